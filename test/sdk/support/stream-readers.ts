import type { StreamReader } from './recorded-client.ts';

/** A complete line, without its end. */
function lines(): (piece: Buffer) => Buffer[] {
  let rest: Buffer = Buffer.alloc(0);
  return (piece) => {
    rest = Buffer.concat([rest, piece]);
    const complete: Buffer[] = [];
    for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
      complete.push(rest.subarray(0, end));
      rest = rest.subarray(end + 1);
    }
    return complete;
  };
}

/**
 * delta_collection.py: `iter_lines` of requests, which also ends lines at a carriage return.
 * Passes over empty lines and parses each other line.
 */
export function pythonStream(): StreamReader {
  const take = lines();
  return (piece) =>
    take(piece)
      .flatMap((line) => line.toString('latin1').split('\r'))
      .filter((line) => line !== '')
      .map((line) => JSON.parse(Buffer.from(line, 'latin1').toString()));
}

/** delta.go: a line of one byte is a heartbeat; every other line must be JSON. */
export function goStream(): StreamReader {
  const take = lines();
  return (piece) =>
    take(piece)
      .filter((line) => line.length > 0)
      .map((line) => JSON.parse(line.toString()));
}

/**
 * nylas-streaming.rb: a JSON parser that is fed with each piece (yajl). Values follow each other,
 * with white space in between.
 */
export function rubyStream(): StreamReader {
  let depth = 0;
  let inText = false;
  let escaped = false;
  let open: number[] = [];
  const values: unknown[] = [];
  const readByte = (byte: number): void => {
    const character = String.fromCharCode(byte);
    if (depth === 0 && /\s/.test(character)) return;
    open.push(byte);
    if (escaped) escaped = false;
    else if (inText && character === '\\') escaped = true;
    else if (character === '"') inText = !inText;
    else if (!inText && character === '{') depth += 1;
    else if (!inText && character === '}') depth -= 1;
    if (depth > 0) return;
    // Throws for anything that is no object.
    values.push(JSON.parse(Buffer.from(open).toString()));
    open = [];
  };
  return (piece) => {
    for (const byte of piece) readByte(byte);
    return values.splice(0);
  };
}

/**
 * Deltas.java: reads at most 8192 bytes at a time, passes over single bytes, decodes each piece by
 * itself, and parses what has arrived after each line or piece of a line. What does not parse yet
 * is kept.
 */
export function javaStream(): StreamReader {
  let kept = '';
  const parsed = (part: string): unknown[] => {
    kept += part;
    try {
      const value: unknown = JSON.parse(kept);
      kept = '';
      return [value];
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return [];
    }
  };
  return (piece) => {
    const values: unknown[] = [];
    for (let start = 0; start < piece.length; start += 8192) {
      const part = piece.subarray(start, start + 8192);
      if (part.length > 1) values.push(...part.toString().split('\n').flatMap(parsed));
    }
    return values;
  };
}
