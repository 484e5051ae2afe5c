import type { z } from 'zod';

/**
 * Reads a cursor that was written as JSON.
 * @returns `null` for no cursor, or one of another form, which another version has written
 */
export function readCursor<T>(cursor: string | null, shape: z.ZodType<T>): T | null {
  if (cursor === null) return null;
  try {
    return shape.safeParse(JSON.parse(cursor)).data ?? null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
