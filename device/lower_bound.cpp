#include "lower_bound.h"
