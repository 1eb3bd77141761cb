"""The program in README.md runs as it stands."""

import re
import subprocess
import sys
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"


def test_the_program_runs(tmp_path):
    program = re.search(r"```python\n(.*?)```", README.read_text(), re.DOTALL).group(1)
    check = "\nassert np.allclose(points.grad.numpy(), points.numpy() / lengths.numpy()[:, None])\n"
    (tmp_path / "readme.py").write_text(program + check)
    subprocess.run([sys.executable, "readme.py"], cwd=tmp_path, check=True)
