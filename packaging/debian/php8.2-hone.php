# SPDX-License-Identifier: BSD-3-Clause
mod obj-php/modules/hone.so
mod debian/hone.ini
