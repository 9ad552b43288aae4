# SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#
# The programs of a library's tests, with the cases and reports of tests/programs, and its examples.
# A Makefile in apis/NAME/tests/programs sets name, and includes it. It may set
#
#	needs		a library that this one uses
#	shared		sources of the library that are not in user/
#	rpath		where the loader finds the library in needs, an option of the compiler
#	ldexample	what the examples are linked with as well

TOP := $(abspath ../../../..)
OUT ?= $(TOP)/build/tests
PROVIDER := $(TOP)/build/provider
CC ?= cc
CFLAGS ?= -O2 -g
programs := $(TOP)/tests/programs
library := $(TOP)/apis/$(name)/user
common := $(addprefix $(programs)/,cases.c common.c pattern.c)
headers := $(wildcard *.h $(programs)/*.h $(TOP)/apis/$(name)/include/*.h $(TOP)/apis/$(name)/include/*/*.h)
parts := $(library) $(TOP)/apis/common $(shared)
CPPFLAGS += -D_GNU_SOURCE -I$(programs) -I$(TOP)/apis/$(name)/include
CFLAGS += -std=gnu11 -Wall -Wextra -Wmissing-prototypes -Wno-unused-parameter
# The library is loaded from where it is built
built := $(abspath $(OUT)/../$(name))
LDLIBRARY := -L$(built) -Wl,-rpath,$(built) -l$(name) $(rpath)
LDLIBS := -lrdmacm -libverbs -lpthread
link = $(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LDLIBRARY) $(LDLIBS)
include $(TOP)/apis/common/objects.mk

all: $(OUT)/$(name)
$(OUT)/$(name): $(call objects,$(OUT)/$(name),$(wildcard *.c) $(common)) | library
	$(link)

# The examples, as a program's author would build them
examples := $(notdir $(basename $(wildcard ../../examples/*.c)))
all: $(examples:%=$(OUT)/$(name)_example_%)
$(OUT)/$(name)_example_%: ../../examples/%.c library | $(OUT)
	$(CC) -std=c11 -D_DEFAULT_SOURCE -I../../include -Wall -Wextra -Werror $(LDFLAGS) -o $@ $< \
		$(LDLIBRARY) $(ldexample)

# The tests in one program with the library, for the compiler's sanitizers
sanitized := $(OUT)/$(name)-address $(OUT)/$(name)-thread
all: $(sanitized)
$(OUT)/$(name)-address: sanitize := address,undefined
$(OUT)/$(name)-thread: sanitize := thread
$(sanitized): CPPFLAGS += -I$(TOP)/apis -I$(TOP)/include/uapi -I$(TOP)/userspace/provider -I$(library) \
	-I$(TOP)/apis/common
$(sanitized): CFLAGS += -O1 -fsanitize=$(sanitize) -fno-sanitize-recover=undefined
$(sanitized): LDLIBRARY = $(needs) $(rpath)
headers += $(wildcard $(parts:%=%/*.h))
$(foreach program,$(sanitized),$(eval $(program): $(call objects,$(program),$(wildcard *.c $(parts:%=%/*.c)) $(common)) $(needs)))
$(sanitized):
	$(link)

library: $(needs)
	@$(MAKE) -s -C $(library) OUT=$(built) PROVIDER=$(PROVIDER)

$(OUT):
	mkdir -p $@

clean:
	rm -rf $(OUT)/objects/$(name)* $(sanitized) $(OUT)/$(name) $(addprefix $(OUT)/$(name),_dg _old _old_dg $(examples:%=_example_%))

.PHONY: all clean library
