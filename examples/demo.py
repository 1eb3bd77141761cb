"""What `make demo` runs: the smallest program with its gradient, then an inverse problem on a real picture.

Run:  python examples/demo.py [PICTURE.png] [options of heat_inverse.py]
"""

import heat_inverse
import length


def main():
    print("== 1/2  length.py: a kernel and its gradient", flush=True)
    same = length.main()
    print("\n== 2/2  heat_inverse.py: a conductivity map recovered from snapshots of heat", flush=True)
    failed = heat_inverse.main()
    return 0 if same and not failed else 1


if __name__ == "__main__":
    raise SystemExit(main())
