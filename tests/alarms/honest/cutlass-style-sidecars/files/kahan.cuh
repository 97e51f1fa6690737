#pragma once

struct Kahan {
    float sum = 0.f, lost = 0.f;
    __device__ __forceinline__ void add(float value) {
        const float y = __fsub_rn(value, lost);
        const float t = __fadd_rn(sum, y);
        lost = __fsub_rn(__fsub_rn(t, sum), y);
        sum = t;
    }
    __device__ __forceinline__ void add(const Kahan& other) {
        add(other.sum);
        add(-other.lost);
    }
};
