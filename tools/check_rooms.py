#!/usr/bin/env python3
"""Says which source file includes what its room may not (tools/rooms.txt). Exit 1 if any does."""
import pathlib, re, sys

root = pathlib.Path(__file__).resolve().parent.parent
owner, may = {"hopbound": None, "inside": None}, {}
for line in (root / "tools/rooms.txt").read_text().splitlines():
    if line and not line.startswith("#"):
        room, rest = line.split(":")
        headers, rooms = rest.split("|")
        may[room] = {room, *rooms.split()}
        owner.update({h: room for h in headers.split()})

bad = 0
files = [(p, p.parts[len(root.parts) + 1]) for p in root.glob("src/*/*.[ch]")]
files += [(p, p.parts[len(root.parts)]) for d in ("cli", "bench") for p in root.glob(f"{d}/*.[ch]")]
files += [(p, "python") for p in root.glob("python/flat/*.[ch]")]
files += [(p, owner[p.stem]) for d in ("include", "src/include") for p in root.glob(f"{d}/hopbound/*.h") if owner[p.stem]]
for path, room in sorted(files):
    for number, text in enumerate(path.read_text().splitlines(), 1):
        m = re.match(r'\s*#\s*include\s*["<](.+?)[">]', text)
        if not m:
            continue
        inc, why = m.group(1), None
        if inc.startswith("hopbound/"):
            target = owner.get(inc[9:-2], "an unknown room")
            if target is None and room not in ("cli", "bench"):
                why = f"{room} may not include everything"
            elif target is not None and target not in may.get(room, ()):
                why = f"{room} may not include {target}"
        elif "../" in inc:
            why = "no ../"
        elif text.strip().endswith('"') and "/" in inc:
            why = f"{room} may not reach into another room"
        if why:
            print(f"{path.relative_to(root)}:{number}: {why}")
            bad += 1
print(f"rooms: {len(files)} files, {bad} wrong includes")
sys.exit(bad != 0)
