# What is carried to another machine, to measure its GPU: tandem-gpu (gpu.c) and the bench, linked with libraries that it
# may lack, with libvulkan beside them. At a fixed address a program is smaller by its relocations, and what travels is
# counted. travel.sh says what else travels.
CARRIED = -no-pie -Wl,-rpath,'$$ORIGIN/lib' -Wl,-Bstatic -lvterm -ljson-c -lutf8proc -Wl,-Bdynamic -lm -pthread
$(B)/tandem-gpu: $(call obj,$(DEVICE_C) src/process/shrunk.c) $(ENGINE_A)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(CARRIED)

$(B)/tandem-bench-alone: $(B)/obj/src/bench/main.o $(B)/libbench.a $(B)/libsrc.a $(B)/libui.a $(ENGINE_A)
	$(call say,LINK)
	$(Q)$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(CARRIED)

# The validation layer goes along where it is installed (tandem-gpu -v).
VALIDATION := /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json
# What is carried counts, and only debuggers and exceptions look at how calls are unwound.
KIT_LESS := -R .eh_frame -R .eh_frame_hdr -R .comment
.PHONY: device-kit
device-kit: $(B)/tandem-gpu $(B)/tandem-bench-alone ## a GPU's measurements to carry to another machine: build/kit
	@rm -rf $(B)/kit; mkdir -p $(B)/kit/lib
	strip $(KIT_LESS) -o $(B)/kit/tandem-gpu.out $(B)/tandem-gpu
	strip $(KIT_LESS) -o $(B)/kit/tandem-bench.out $(B)/tandem-bench-alone
	cp -L $$(ldconfig -p | awk '/libvulkan.so.1 /{print $$NF; exit}') $(B)/kit/lib/libvulkan.so.1
	[ ! -e $(VALIDATION) ] || cp -L $(VALIDATION) $$(ldconfig -p | awk '/libVkLayer_khronos/{print $$NF; exit}') $(B)/kit/lib
	gzip -7 $(B)/kit/*.out $(B)/kit/lib/*.so*
	for program in tandem-gpu tandem-bench; do install -m755 tests/device/kit.sh $(B)/kit/$$program; done
