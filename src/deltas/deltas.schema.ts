import { z } from 'zod';
import { pageQuery, viewQuery } from '../platform/wire/pagination.schema.ts';
import { integerLike, queryText, filterTime } from '../platform/wire/wire.schema.ts';
import { DELTA_TYPES, type DeltaType } from '../platform/changes/delta-types.ts';

const isType = (name: string): name is DeltaType =>
  (DELTA_TYPES as readonly string[]).includes(name);

/** Comma-separated or repeated. */
const types = z
  .union([queryText(), z.array(queryText()).max(100)])
  .transform((value) => [value].flat().flatMap((part) => part.split(',')))
  .transform((names) => names.map((name) => name.trim()).filter(Boolean))
  .transform((names, context) => {
    const unknown = names.find((name) => !isType(name));
    if (unknown !== undefined) {
      const known = DELTA_TYPES.join(', ');
      context.addIssue({
        code: 'custom',
        message: `Unknown type ${unknown.slice(0, 50)}; known: ${known}`,
      });
    }
    return names.filter(isType);
  })
  .optional();

const readQuery = {
  cursor: queryText().describe(
    'Cursor to continue from. `0`: the beginning of the kept change log',
  ),
  view: viewQuery(['expanded']).describe(
    '`expanded`: objects with every field that their own endpoints can show',
  ),
  include_types: types.describe('Only these types of objects; comma-separated or repeated'),
  includeTypes: types.describe('Same as `include_types`'),
  exclude_types: types.describe('All types of objects except these; comma-separated or repeated'),
  excluded_types: types.describe('Same as `exclude_types`'),
};

/** Query of GET /delta. */
export const deltaQuery = z.object({
  ...readQuery,
  limit: pageQuery.limit.describe(
    'Most changes to read, 0 to 1000; several changes of one object become one delta',
  ),
  offset: pageQuery.offset.describe('Without effect: the cursor says where to continue'),
});
export type DeltaQuery = z.infer<typeof deltaQuery>;

export const longPollQuery = z.object({
  ...deltaQuery.shape,
  timeout: integerLike({ min: 0, max: 1800 }).default(120).describe('Longest wait in seconds'),
});
export type LongPollQuery = z.infer<typeof longPollQuery>;

/** Query of GET /delta/streaming. */
export const streamQuery = z.object({
  ...readQuery,
  timeout: integerLike({ min: 1, max: 86_400 })
    .default(1800)
    .describe('Seconds until the stream ends'),
});
export type StreamQuery = z.infer<typeof streamQuery>;

export const generateCursor = z
  .object({ start: filterTime() })
  .meta({ id: 'GenerateCursor', example: { start: 1_763_600_000 } });
export type GenerateCursor = z.infer<typeof generateCursor>;

const cursor = '3c-mi8zkq0x-1f0c9b2a7d3e';

export const cursorView = z
  .object({ cursor: z.string() })
  .meta({ id: 'Cursor', example: { cursor } });

const folderId = '019aa1b2-0000-7000-8000-000000000003';

const deltaView = z
  .object({
    id: z.string().describe('Id of the object'),
    object: z.enum(DELTA_TYPES as [DeltaType, ...DeltaType[]]),
    event: z.enum(['create', 'modify', 'delete']),
    cursor: z
      .string()
      .describe('A client that has this delta and all deltas before it may continue from here'),
    attributes: z
      .record(z.string(), z.unknown())
      .optional()
      .describe(
        'The current object, as its own endpoint shows it; absent if the object was deleted',
      ),
  })
  .meta({
    id: 'Delta',
    example: {
      id: folderId,
      object: 'folder',
      event: 'modify',
      cursor,
      attributes: { id: folderId, object: 'folder', name: null, display_name: 'Invoices' },
    },
  });

export const deltasView = z
  .object({
    cursor_start: z.string(),
    cursor_end: z
      .string()
      .describe('Cursor to continue from; equals `cursor_start` if nothing has changed'),
    deltas: z.array(deltaView),
  })
  .meta({ id: 'Deltas' });
export type DeltasView = z.infer<typeof deltasView>;

export const deltaLines = z.unknown().meta({
  id: 'DeltaLines',
  description: 'Deltas as they occur, one line of JSON each, and an empty line every second',
});
