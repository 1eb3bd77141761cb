#include "ad/gather.h"

#include <algorithm>
#include <map>
#include <set>

#include "ad/adjoints.h"
#include "base/error.h"
#include "ir/builder.h"
#include "ir/verify.h"
#include "opt/in_loop.h"
#include "opt/item_forms.h"
#include "opt/opt.h"

namespace weft::ad {
namespace {

using namespace ir;

// More copies of a body than this, or of so many ops, cost more than items that meet.
constexpr size_t kMaxShifts = 12;
constexpr size_t kMaxOps = 4000;

using Shift = std::vector<int64_t>;
using Values = std::vector<Value*>;

// The array parameter of an access, and the At that begins it; null where the access is reached in another way.
struct Place {
    const Value* parameter = nullptr;
    const Op* at = nullptr;
    std::vector<int64_t> members;  // from the element on; those chosen while the kernel runs end it

    // Whether both may be memory in common, of one element.
    bool meets(const Place& other) const {
        const auto common = static_cast<std::ptrdiff_t>(std::min(members.size(), other.members.size()));
        return parameter == other.parameter &&
               std::equal(members.begin(), members.begin() + common, other.members.begin());
    }
};

Place place_of(const Value* ref, const Function& kernel) {
    Place out;
    while (ref->op != nullptr && (ref->op->code == Opcode::Member || ref->op->code == Opcode::MemberAt)) {
        if (ref->op->code == Opcode::MemberAt) out.members.clear();
        if (ref->op->code == Opcode::Member) out.members.insert(out.members.begin(), ref->op->ints[0]);
        ref = ref->op->operands[0];
    }
    if (ref->op == nullptr || ref->op->code != Opcode::At) return {};
    const Value* array = ref->op->operands[0];
    if (array->region != &kernel.body) return {};
    out.parameter = array;
    out.at = ref->op;
    return out;
}

// The constants that an item's coordinates differ from the indices by, dimension by dimension; nothing for other
// indices.
std::optional<Shift> shift_of(const Op& at, const opt::ItemForms& forms) {
    Shift shift;
    for (size_t d = 0; d + 1 < at.operands.size(); ++d) {
        const opt::ItemForm& form = forms[at.operands[d + 1]];
        if (!form.affine || !form.base) return std::nullopt;
        for (size_t k = 0; k < form.step.size(); ++k) {
            if (form.step[k] != (k == d ? 1 : 0)) return std::nullopt;
        }
        shift.push_back(*form.base);
    }
    return shift;
}

// What the adjoint adds to, and how.
class Plan {
  public:
    Plan(const Module& module, const Function& adjoint) : adjoint_(adjoint), forms_(adjoint) { valid_ = look(module); }

    bool valid() const { return valid_; }
    int dims() const { return dims_; }
    const std::set<Shift>& shifts() const { return shifts_; }
    const std::set<int>& arrays() const { return arrays_; }
    // The shift of an atomic on an array that is gathered; null for other atomics.
    const Shift* shift(const Op& atomic) const {
        const auto found = by_atomic_.find(&atomic);
        return found == by_atomic_.end() ? nullptr : &found->second;
    }

  private:
    bool look(const Module& module) {
        std::set<const Value*> used;
        std::set<int> loaded;
        std::set<int> stored;
        std::vector<Place> loads;
        std::vector<Place> stores;
        std::map<int, std::vector<const Op*>> atomics;
        bool fits = true;
        size_t ops = 0;
        walk(adjoint_.body, [&](const Op& op) {
            ++ops;
            used.insert(op.operands.begin(), op.operands.end());
            if (op.code == Opcode::Call) {
                // Functions of values alone may be called anywhere.
                fits = fits && !opt::has_effects(module, *module.find(op.text));
                for (const Value* v : op.operands)
                    fits = fits && !v->type.contains_array() && !v->type.is(TypeKind::Ref);
            }
            fits = fits && op.code != Opcode::Break && op.code != Opcode::Continue && op.code != Opcode::Native &&
                   op.code != Opcode::Snippet && op.code != Opcode::Print && op.code != Opcode::Assert &&
                   op.code != Opcode::LocalArray && op.code != Opcode::Address && op.code != Opcode::ArrayAt;
            if (op.code != Opcode::Load && op.code != Opcode::Store && op.code != Opcode::Atomic) return;
            const Place place = place_of(op.operands[0], adjoint_);
            if (place.parameter == nullptr) {
                fits = false;
                return;
            }
            const int parameter = place.parameter->index;
            if (op.code == Opcode::Load) loaded.insert(parameter);
            if (op.code == Opcode::Load) loads.push_back(place);
            if (op.code == Opcode::Store) {
                // Of what is cleared, one value is read, once, before: a second one would be that of the cleared.
                fits = fits && !opt::in_loop(op) && std::none_of(stores.begin(), stores.end(), [&](const Place& other) {
                           return other.meets(place);
                       });
                stored.insert(parameter);
                stores.push_back(place);
            }
            if (op.code == Opcode::Atomic) {
                fits = fits && op.atomic() == AtomicKind::Add;
                atomics[parameter].push_back(&op);
            }
        });
        for (const Place& store : stores) {
            fits =
                fits && std::count_if(loads.begin(), loads.end(), [&](const Place& l) { return l.meets(store); }) <= 1;
        }
        if (!fits) return false;
        size_t dims = 0;
        for (const auto& [parameter, ops_on_it] : atomics) {
            bool shifted = !loaded.contains(parameter) && !stored.contains(parameter);
            std::map<const Op*, Shift> found;
            for (const Op* op : ops_on_it) {
                const Place place = place_of(op->operands[0], adjoint_);
                WEFT_CHECK(place.at != nullptr, "an atomic on no element");
                const auto shift = shift_of(*place.at, forms_);
                if (used.contains(op->result())) return false;
                shifted = shifted && shift;
                if (shift) found.emplace(op, *shift);
            }
            if (!shifted) continue;
            const size_t size = found.begin()->second.size();
            if (dims != 0 && dims != size) return false;
            dims = size;
            arrays_.insert(parameter);
            for (const auto& [op, shift] : found) {
                shifts_.insert(shift);
                by_atomic_.emplace(op, shift);
            }
        }
        dims_ = static_cast<int>(dims);
        const bool meets =
            std::any_of(shifts_.begin(), shifts_.end(), [](const Shift& s) { return s != Shift(s.size()); });
        // What is read of an array that is added to by other items must not change under them.
        for (const auto& [parameter, _] : atomics) meets_reads_ = meets_reads_ || loaded.contains(parameter);
        return meets && !meets_reads_ && shifts_.size() <= kMaxShifts && ops * shifts_.size() <= kMaxOps;
    }

    const Function& adjoint_;
    opt::ItemForms forms_;
    bool valid_ = false;
    bool meets_reads_ = false;
    int dims_ = 0;
    std::set<Shift> shifts_;
    std::set<int> arrays_;
    std::map<const Op*, Shift> by_atomic_;
};

using Replace = std::function<bool(const Op&, ValueMap&)>;

class Maker {
  public:
    Maker(Module& module, const Function& adjoint, const Plan& plan, Function& made)
        : adjoint_(adjoint), plan_(plan), b_(module, made) {
        made.location = adjoint.location;
        for (const Value* p : adjoint.parameters()) parameters_[p] = b_.parameter(p->type, p->name);
    }

    // All that belongs to one element is summed first, then added.
    void main() {
        const Shift none(static_cast<size_t>(plan_.dims()));
        std::vector<Type> types;
        for (const int p : plan_.arrays())
            types.push_back(adjoint_.parameters()[static_cast<size_t>(p)]->type.target());
        Values sums;
        for (const Type type : types) sums.push_back(b_.zero(type));
        for (const Shift& shift : plan_.shifts()) {
            if (shift == none) continue;
            sums = b_.if_(inside(shift, -1), types, [&] { b_.yield(copy(shift, sums)); }, [&] { b_.yield(sums); });
        }
        // Whatever belongs to the item itself: its own elements, and arrays that are not gathered.
        sums = copy(none, sums);
        size_t k = 0;
        for (const int p : plan_.arrays())
            add(parameters_.at(adjoint_.parameters()[static_cast<size_t>(p)]), sums[k++]);
        b_.return_({});
    }

    void rest() {
        Value* inner = b_.boolean(true);
        for (const Shift& shift : plan_.shifts()) inner = b_.binary(Opcode::And, inner, inside(shift, 1));
        const auto without_atomics = [](const Op& op, ValueMap&) { return op.code == Opcode::Atomic; };
        const auto beyond = [&](const Op& op, ValueMap& map) {
            if (op.code != Opcode::Atomic) return false;
            const Shift* shift = plan_.shift(op);
            if (shift == nullptr) return true;
            Value* outside = b_.logical_not(inside(*shift, 1));
            b_.if_(outside, {}, [&] { b_.atomic(op.atomic(), map.at(op.operands[0]), map.at(op.operands[1])); }, [] {});
            return true;
        };
        b_.if_(inner, {}, [&] { clone(without_atomics); }, [&] { clone(beyond); });
        b_.return_({});
    }

  private:
    // Whether the item's coordinates plus `sign` times the shift are those of an item.
    Value* inside(const Shift& shift, int64_t sign) {
        Value* all = b_.boolean(true);
        for (size_t d = 0; d < shift.size(); ++d) {
            if (shift[d] == 0) continue;
            Value* at = moved(static_cast<int>(d), sign * shift[d]);
            Value* check = sign * shift[d] < 0 ? b_.compare(Opcode::Ge, at, b_.zero(i32()))
                                               : b_.compare(Opcode::Lt, at, b_.launch_dim(static_cast<int>(d)));
            all = b_.binary(Opcode::And, all, check);
        }
        return all;
    }

    Value* moved(int dimension, int64_t by) {
        Value* index = b_.thread_index(dimension);
        return by == 0 ? index : b_.add(index, b_.constant(i32(), by));
    }

    void clone(const Replace& replace) {
        ValueMap map = parameters_;
        clone_into(b_, adjoint_.body, map, replace);
    }

    // Adds to the item's own element, if the array has one.
    void add(Value* array, Value* sum) {
        Value* exists = b_.is_valid(array);
        Values indices;
        for (int d = 0; d < plan_.dims(); ++d) {
            indices.push_back(b_.thread_index(d));
            exists = b_.binary(Opcode::And, exists, b_.compare(Opcode::Lt, indices.back(), b_.shape(array, d)));
        }
        b_.if_(exists, {}, [&] { add_to(b_.at(array, indices), sum); }, [] {});
    }

    void add_to(Value* place, Value* sum) {
        const Type type = sum->type;
        if (type.has_float_elements()) {
            b_.atomic(AtomicKind::Add, place, sum);
        } else if (type.is_aggregate()) {
            for (int i = 0; i < type.part_count(); ++i) {
                if (type.part(i).is_differentiable()) add_to(b_.member(place, i), b_.extract(sum, i));
            }
        }
    }

    // The sums, with what the item at minus the shift adds to this item's elements. Of the item itself (a shift of 0)
    // also what it adds to arrays that are not gathered.
    Values copy(const Shift& shift, const Values& sums) {
        ValueMap map = parameters_;
        return region(adjoint_.body, shift, map, sums);
    }

    // Copies the ops of a region without its terminator.
    Values region(const Region& from, const Shift& shift, ValueMap& map, Values sums) {
        for (const Op* op : from.ops) {
            if (is_terminator(op->code)) break;
            b_.set_location(op->location);
            switch (op->code) {
                case Opcode::ThreadIndex: {
                    const auto d = static_cast<size_t>(op->ints[0]);
                    map[op->result()] = moved(static_cast<int>(d), d < shift.size() ? -shift[d] : 0);
                    break;
                }
                case Opcode::Store:
                    break;
                case Opcode::Atomic: {
                    const Shift* own = plan_.shift(*op);
                    if (own == nullptr && shift == Shift(shift.size())) clone_op(b_, *op, map);
                    if (own != nullptr && *own == shift) include(*op, map, sums);
                    break;
                }
                case Opcode::If:
                case Opcode::For:
                case Opcode::While:
                    control(*op, shift, map, sums);
                    break;
                default:
                    clone_op(b_, *op, map);
            }
        }
        return sums;
    }

    // The sums leave an If as results, and are carried by loops.
    void control(const Op& op, const Shift& shift, ValueMap& map, Values& sums) {
        Values operands;
        for (const Value* v : op.operands) operands.push_back(map.at(v));
        std::vector<Type> types;
        for (const Value* v : op.results) types.push_back(v->type);
        for (const Value* v : sums) types.push_back(v->type);
        if (is_loop(op)) operands.insert(operands.end(), sums.begin(), sums.end());
        Op& made = b_.emit_op(op.code, operands, types);
        for (const auto& from : op.regions) {
            std::vector<Type> arguments;
            for (const Value* v : from->arguments) arguments.push_back(v->type);
            if (is_loop(op)) {
                for (const Value* v : sums) arguments.push_back(v->type);
            }
            b_.fill_region(made, arguments, [&](Region& to) {
                for (size_t k = 0; k < from->arguments.size(); ++k) map[from->arguments[k]] = to.arguments[k];
                Values inner = sums;
                if (is_loop(op)) {
                    inner.assign(to.arguments.begin() + static_cast<std::ptrdiff_t>(from->arguments.size()),
                                 to.arguments.end());
                }
                inner = region(*from, shift, map, inner);
                Values ends;
                for (const Value* v : from->terminator()->operands) ends.push_back(map.at(v));
                if (from->terminator()->code == Opcode::Condition) return b_.condition(ends[0]);
                ends.insert(ends.end(), inner.begin(), inner.end());
                b_.yield(ends);
            });
        }
        for (size_t k = 0; k < op.results.size(); ++k) map[op.results[k]] = made.results[k];
        sums.assign(made.results.begin() + static_cast<std::ptrdiff_t>(op.results.size()), made.results.end());
    }

    // Adds what an atomic adds, to the sum of its array.
    void include(const Op& atomic, const ValueMap& map, Values& sums) {
        const Place place = place_of(atomic.operands[0], adjoint_);
        WEFT_CHECK(place.parameter != nullptr, "a sum of no array");
        const auto found = plan_.arrays().find(place.parameter->index);
        const auto k = static_cast<size_t>(std::distance(plan_.arrays().begin(), found));
        sums[k] = with_part(sums[k], atomic.operands[0], map,
                            [&](Value* old) { return add_values(b_, old, map.at(atomic.operands[1])); });
    }

    // An element of which the part behind the Ref is what `make` makes of it.
    Value* with_part(Value* element, const Value* ref, const ValueMap& map, const std::function<Value*(Value*)>& make) {
        const Op& op = *ref->op;
        if (op.code == Opcode::At) return make(element);
        return with_part(element, op.operands[0], map, [&](Value* whole) {
            if (op.code == Opcode::Member) {
                const auto part = static_cast<int>(op.ints[0]);
                return b_.insert(whole, make(b_.extract(whole, part)), part);
            }
            Value* index = map.at(op.operands[1]);
            return b_.insert_at(whole, make(b_.extract_at(whole, index)), index);
        });
    }

    const Function& adjoint_;
    const Plan& plan_;
    Builder b_;
    ValueMap parameters_;
};

}  // namespace

std::optional<Gather> add_gather(Module& module, const std::string& name) {
    const Function& adjoint = *module.find(name);
    const Plan plan(module, adjoint);
    if (!plan.valid()) return std::nullopt;
    Gather out{name + ".gather", name + ".rest", {plan.arrays().begin(), plan.arrays().end()}, plan.dims()};
    Maker(module, adjoint, plan, module.add(out.main, FunctionKind::Kernel)).main();
    Maker(module, adjoint, plan, module.add(out.rest, FunctionKind::Kernel)).rest();
    opt::unchanged_values(module);
    opt::dead_code(module);
    verify(module);
    return out;
}

}  // namespace weft::ad
