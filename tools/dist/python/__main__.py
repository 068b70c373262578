"""Run tenet: `python -m tenet_rules check`."""

import sys

from tenet_rules import main

sys.exit(main())
