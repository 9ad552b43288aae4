# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
"""pyverbs' constants, in any release: e those of verbs, ce those of rdma_cm."""

try:
    import pyverbs.cm_enums as ce
    import pyverbs.enums as e
except ImportError:     # other names, in rdma-core 65
    import pyverbs.libibverbs_enums as e
    import pyverbs.librdmacm_enums as ce

__all__ = ['ce', 'e']
