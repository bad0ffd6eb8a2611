# SPDX-License-Identifier: Apache-2.0
"""The optimiser of the reference: its configuration, its class and its command, over `pdl optimize`."""
