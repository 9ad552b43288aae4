# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# $(call objects,TARGET,SOURCES): the objects of TARGET, a program or a library, with a rule for
# each; they have TARGET's variables, and depend on $(headers). ccache knows no other compilations
# than those of one source, and wants -MMD.

object = $(dir $(1))objects/$(notdir $(1))/$(subst /,-,$(subst $(abspath $(TOP))/,,$(abspath $(2:.c=.o))))
define object_rule
$(call object,$(1),$(2)): $(2) $(headers)
	@mkdir -p $$(@D)
	$$(CC) $$(CPPFLAGS) $$(CFLAGS) -MMD -c -o $$@ $$<
endef
objects = $(foreach source,$(2),$(eval $(call object_rule,$(1),$(source)))$(call object,$(1),$(source)))
