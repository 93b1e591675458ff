"""A vendor's package to begin with: ``phalanx new-plugin``.

The files of ``templates`` are a package for a device called ``acme``, which takes the name that is
asked for. Those of ``shared`` belong to every form.
"""

from __future__ import annotations

from .names import check_name
from .write import FORMS, Form, write

__all__ = ["FORMS", "Form", "check_name", "write"]
