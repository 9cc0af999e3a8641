"""The kernels whose machine code misses a bar (bars.py), and why."""

#: A bar, the reason why some entries miss it on sm_90, and those entries.
_BELOW = (
    ("instructions", "two special functions and a division in f32 for each element of 2 bytes; at most 13 % over the bar",
     "argmax_rows/frit_argmax_max std_columns/frit_deviations_div_sqrt_0"),
    ("instructions", "single elements instead of vectors: an access and a conversion for each",
     "bias_gelu_residual/frit_add_mul_tanh_u layer_norm/frit_sum_div_sub_mul_add_u argmax_rows/frit_argmax_max_u "
     "softmax_short/frit_max_sub_exp_sum_div_u softmax_odd/frit_max_sub_exp_sum_div softmax_long_odd/frit_max_sub_exp_sum_div "
     "softmax_endless/frit_max_sub_exp_sum_div_u layer_norm_wide/frit_sum_div_sub_mul_add_u norm_backward_few_rows/frit_sub_mul_div_sum_u_0 "
     "pairwise_distance/frit_sub_mul_sum_u padded/frit_copy cumsum_odd_rows/frit_scan"),
    ("in flight", "single elements instead of vectors, fewer than a row of 2 bytes needs",
     "column_sum/frit_sum_u_0 column_sums_beyond_32_bits/frit_sum_u_0 argmax_all/frit_argmax_u_0 pairwise_distance/frit_sub_mul_sum_u "
     "norm_backward_few_rows/frit_sub_mul_div_sum_u_0 cumsum_odd_rows/frit_scan"),
    ("in flight", "an address waits for an index that is read first",
     "embedding_scale/frit_gather_mul_u cross_entropy/frit_cmp_sub_log_select_gather_u gathered_elements/frit_gather_u"),
    ("instructions", "two short rows at a time: 1 % over the bar; four at a time need fewer instructions and take 2 % longer on an H200",
     "softmax_short/frit_max_sub_exp_sum_div"),
    ("instructions", "an exponential of each element, which writes nothing: at most 10 % over the bar",
     "cross_entropy/frit_max_sub_exp_sum cross_entropy/frit_max_sub_exp_sum_u"),
    ("instructions", "an exponential of each element, which writes nothing, and a maximum in 64-bit indices",
     "row_sums_beyond_32_bits/frit_max_absf_cmp_select_sub row_sums_beyond_32_bits/frit_max_absf_cmp_select_sub_u"),
    ("instructions", "erf, and a tile in shared memory by single elements", "gelu_transposed/frit_mul_erf_add_u"),
    ("in flight", "a tile in shared memory is filled by single elements", "channels_last/frit_mul_u transposed_bytes/frit_add_u"),
    ("instructions", "a tile in shared memory, by single elements of a byte or with unknown sizes",
     "transposed_bytes/frit_add transposed_bytes/frit_add_u dynamic_flat_transpose/frit_add"),
    ("barriers", "a tile is filled in four parts", "both_orders/frit_mul_add_u transposed_bytes/frit_add_u gelu_transposed/frit_mul_erf_add_u"),
    ("barriers", "a step takes two rows, with two barriers each", "norm_backward_few_rows/frit_sub_mul_div_sum_0 rms_norm_backward/frit_mul_sum_div_sub_0"),
    ("in flight", "bound by instructions: each element draws a block of four random numbers", "dropout_residual/frit_random_shru_cmp_select_mul_u"),
    ("instructions", "each element draws a block of four random numbers", "dropout_residual/frit_random_shru_cmp_select_mul_u"),
    ("in flight", "bound by instructions: functions of libdevice", "transcendental/frit_sin_erf_mul_exp_log1p transcendental/frit_sin_erf_mul_exp_log1p_u"),
    ("instructions", "several functions of libdevice for each element", "transcendental/frit_sin_erf_mul_exp_log1p transcendental/frit_sin_erf_mul_exp_log1p_u"),
    ("in flight", "a scalar's kernel: one thread has work", "foreach_adamw/frit_add_powf_sub_sqrt_div"),
    ("instructions", "a scalar's kernel: one thread has work", "foreach_adamw/frit_add_powf_sub_sqrt_div"),
    ("instructions", "32 rows: one launch of blocks that each have a row in registers",
     "group_norm_silu/frit_sum_div_sub_mul_add group_norm_silu/frit_sum_div_sub_mul_add_u"),
    ("instructions", "a position in 64 bits is compared and selected beside each element",
     "argmin_short_rows/frit_argmin argmin_short_rows/frit_argmin_u argmax_columns/frit_argmax_0 argmax_columns/frit_argmax_u_0"),
    ("in flight", "a position in 64 bits for each of eight columns leaves registers for few loads", "argmax_columns/frit_argmax_0 argmax_columns/frit_argmax_u_0"),
    ("instructions", "Welford's update divides by a count for each element",
     "var_mean_columns/frit_sum_div_deviations_u_0 std_columns/frit_deviations_div_sqrt_u_0 batch_norm_channels/frit_sum_div_sub_deviations_add_u_0"),
    ("in flight", "bound by instructions: Welford's update of single elements",
     "var_mean_columns/frit_sum_div_deviations_u_0 std_columns/frit_deviations_div_sqrt_u_0 batch_norm_channels/frit_sum_div_sub_deviations_add_u_0"),
    ("instructions", "tanh's exact exponential and its derivative, and running sums",
     "gelu_backward_bias/frit_mul_add_tanh_sub_sum_0 gelu_backward_bias/frit_mul_add_tanh_sub_sum_u_0"),
    ("in flight", "bound by instructions, and eight columns' sums take its registers", "gelu_backward_bias/frit_mul_add_tanh_sub_sum_u_0"),
    ("instructions", "rows of unknown length: chunks beyond the end are computed, too",
     "dynamic_softmax/frit_max_sub_exp_sum_div_v0 dynamic_softmax/frit_max_sub_exp_sum_div "
     "dynamic_softmax_odd/frit_max_sub_exp_sum_div dynamic_softmax_wide/frit_max_sub_exp_sum_div_v0 dynamic_softmax_wide/frit_max_sub_exp_sum_div "
     "dynamic_softmax_of_channels/frit_mul_max_sub_exp_sum dynamic_softmax_of_slice/frit_max_sub_exp_sum_div_v0 dynamic_softmax_of_slice/frit_max_sub_exp_sum_div "
     "dynamic_softmax_of_wide_slice/frit_max_sub_exp_sum_div_v0 dynamic_softmax_of_wide_slice/frit_max_sub_exp_sum_div "
     "dynamic_masked_softmax/frit_xor_select_mul_max_sub_v0 dynamic_masked_softmax/frit_xor_select_mul_max_sub "
     "dynamic_masked_softmax_of_slice/frit_xor_select_mul_max_sub_v0 dynamic_masked_softmax_of_slice/frit_xor_select_mul_max_sub"),
    ("instructions", "an unknown row length: a vector finds its row by a division",
     "dynamic_channels/frit_mul_cmp_select dynamic_flat/frit_mul_cmp_select"),
    ("divisions", "the variant for more than 2^31 elements finds a vector's row by a division in 64 bits",
     "dynamic_channels/frit_mul_cmp_select dynamic_pairs/frit_add_mul dynamic_gelu/frit_add_mul_erf dynamic_repeat/frit_mul "
     "dynamic_flat/frit_mul_cmp_select dynamic_softmax_of_channels/frit_mul_max_sub_exp_sum"),
    ("in flight", "the variant for more than 2^31 elements: indices take its registers",
     "dynamic_sums/frit_sum_max dynamic_softmax/frit_max_sub_exp_sum_div dynamic_softmax_odd/frit_max_sub_exp_sum_div "
     "dynamic_softmax_of_slice/frit_max_sub_exp_sum_div"),
    ("in flight", "finding an element divides by unknown sizes, so elements are taken one by one", "dynamic_flat/frit_mul_cmp_select_v0_u"),
)  # fmt: skip
#: (kind, entry, bar) -> the reason why it misses the bar.
EXCEPTIONS = {(*place.split("/"), bar): why for bar, why, places in _BELOW for place in places.split()}
