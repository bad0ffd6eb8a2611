# SPDX-License-Identifier: Apache-2.0
raise NotImplementedError("pdl.optimize: the optimiser is not part of libpdl-compat yet")
