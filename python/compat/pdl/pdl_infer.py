# SPDX-License-Identifier: Apache-2.0
raise NotImplementedError("pdl.pdl_infer: inference is not part of libpdl-compat yet")
