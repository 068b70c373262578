"""The program tenet as a wheel: `tenet` on the PATH, and `python -m tenet_rules`."""

import os
import sys
import sysconfig


def find_tenet() -> str:
    """Return the path of the program that was installed with this package.

    Raises FileNotFoundError if it is not where pip puts programs.
    """
    name = "tenet.exe" if os.name == "nt" else "tenet"
    folders = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))]
    # pip install --target puts programs beside the packages.
    folders.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin"))
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            return path
    raise FileNotFoundError("the program %s is in none of %s; install tenet-rules again" % (name, ", ".join(folders)))


def main() -> int:
    """Run the program with the arguments of this process, in place of it where the system can do that."""
    program = find_tenet()
    if os.name == "nt":
        import subprocess

        return subprocess.call([program, *sys.argv[1:]])
    os.execv(program, [program, *sys.argv[1:]])
