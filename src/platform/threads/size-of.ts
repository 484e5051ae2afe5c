/** Counted for each value, in addition to its text or bytes. */
const VALUE_BYTES = 16;

/**
 * Returns the approximate size of plain data: the length of text, the number of bytes, and a little
 * for each value.
 * @param most counting stops above this size
 */
export function sizeOf(value: unknown, most: number): number {
  const left: unknown[] = [value];
  let size = 0;
  while (left.length > 0 && size <= most) {
    const next = left.pop();
    size += VALUE_BYTES;
    if (typeof next === 'string') size += next.length;
    else if (ArrayBuffer.isView(next) || next instanceof ArrayBuffer) size += next.byteLength;
    else if (next instanceof Map) left.push(...next.keys(), ...next.values());
    else if (typeof next === 'object' && next !== null)
      for (const one of Object.values(next)) left.push(one);
  }
  return size;
}
