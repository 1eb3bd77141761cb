"""Random programs over the whole language give what Python over NumPy scalars gives, on both backends, bit for bit."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.check_random_language import check_many
from support.random_language_meaning import check


@settings(max_examples=12, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.integers(0, 2**32 - 1))
def test_a_random_program_agrees_with_python(seed):
    assert check([seed]) == []


def test_two_thousand_programs_agree_with_python():
    assert list(check_many(first=0, count=2000)) == []
