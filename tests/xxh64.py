"""XXH64 with seed 0, from its specification, for tests that write hashes themselves."""
P = [0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5]
MASK = (1 << 64) - 1


def rotated(x, n):
    return (x << n | x >> (64 - n)) & MASK


def rounded(acc, lane):
    return rotated((acc + lane * P[1]) & MASK, 31) * P[0] & MASK


def xxh64(data):
    """16 hexadecimal digits."""
    lanes, at = [(P[0] + P[1]) & MASK, P[1], 0, -P[0] & MASK], 0
    while at + 32 <= len(data):
        for i in range(4):
            lanes[i] = rounded(lanes[i], int.from_bytes(data[at + 8 * i:at + 8 * i + 8], "little"))
        at += 32
    acc = P[4]
    if len(data) >= 32:
        acc = sum(rotated(v, n) for v, n in zip(lanes, (1, 7, 12, 18))) & MASK
        for v in lanes:
            acc = ((acc ^ rounded(0, v)) * P[0] + P[3]) & MASK
    acc = (acc + len(data)) & MASK
    while at + 8 <= len(data):
        acc = (rotated(acc ^ rounded(0, int.from_bytes(data[at:at + 8], "little")), 27) * P[0] + P[3]) & MASK
        at += 8
    if at + 4 <= len(data):
        acc = (rotated(acc ^ int.from_bytes(data[at:at + 4], "little") * P[0] & MASK, 23) * P[1] + P[2]) & MASK
        at += 4
    for byte in data[at:]:
        acc = rotated(acc ^ byte * P[4] & MASK, 11) * P[0] & MASK
    for shift, prime in ((33, P[1]), (29, P[2])):
        acc = (acc ^ acc >> shift) * prime & MASK
    return f"{acc ^ acc >> 32:016x}"
