import type { ChangeRecord } from '../../platform/changes/change-log.ts';
import { recordset, type Sql } from '../../platform/database/sql.ts';
import type { ParsedFile } from '../parsing/mime-parser.ts';
import type { File } from './file.entity.ts';
import type { NotNull, RowOf } from '../../platform/database/rows/row-of.ts';

/* Files of sent messages of which the provider has made a copy of its own (ADR 0134). */

/**
 * How much larger the same file may be on one side: base64 with its line ends takes 1.37 times the
 * bytes, and providers change line ends.
 */
const LARGER = 1.5;
const LARGER_BYTES = 100;

/** A file of a message, as far as it is compared with the files of a copy. */
export type ComparedFile = Pick<ParsedFile, 'filename' | 'contentType' | 'contentId' | 'size'>;

/**
 * Pairs the files of a message with the files of its copy. Files are the same if they have the same
 * name, media type and about the same size. The id of a file must not lead to the bytes of another
 * one. So files of a name and type are left out if the copy has more or fewer of them, or if the
 * Content-IDs of a pair differ. A Content-ID that only one of them has does not count, except for
 * several files of one name and type, whose order proves nothing.
 * @param before files of the message, in their order
 * @param after files of the copy, in their order
 */
export function pairFiles<T extends ComparedFile, U extends ComparedFile>(
  before: readonly T[],
  after: readonly U[],
): [T, U][] {
  const copies = Map.groupBy(after, kindOf);
  return [...Map.groupBy(before, kindOf)].flatMap(([kind, some]): [T, U][] => {
    const others = copies.get(kind) ?? [];
    if (some.length !== others.length) return [];
    const pairs = some.flatMap((one, index): [T, U][] => {
      const other = others[index];
      return other ? [[one, other]] : [];
    });
    const named = some.length === 1 || pairs.every(([one]) => one.contentId !== null);
    return named && pairs.every(([one, other]) => mayBeSame(one, other, some.length > 1))
      ? pairs
      : [];
  });
}

const kindOf = ({ filename, contentType }: ComparedFile): string =>
  JSON.stringify([filename, contentType.toLowerCase()]);

/** @param byIdOnly whether a Content-ID that only one of them has is not enough */
function mayBeSame(one: ComparedFile, other: ComparedFile, byIdOnly: boolean): boolean {
  const [small = 0, large = 0] = [one.size, other.size].toSorted((a, b) => a - b);
  if (large > small * LARGER + LARGER_BYTES) return false;
  if (one.contentId === other.contentId) return true;
  return !byIdOnly && (one.contentId === null || other.contentId === null);
}

/** A message and the files of its copy. */
export interface CopiedFiles {
  id: string;
  files: readonly ParsedFile[];
}

/** Files that keep their ids. */
export interface KeptFiles {
  ids: string[];
  /** Positions of the files in the copies, by the ids of the messages. */
  parts: ReadonlyMap<string, ReadonlySet<number>>;
  /** Records for the change log, of files that clients see changed. */
  changes: ChangeRecord[];
}

interface StoredFile extends ParsedFile, RowOf<File, 'id'>, NotNull<RowOf<File, 'messageId'>> {}

const STORED = `
  select id, message_id as "messageId", part, section, filename, content_type as "contentType",
    content_disposition as "contentDisposition", content_id as "contentId", size
  from file where message_id = any($1::uuid[]) order by message_id, part`;

const MOVE = `
  update file f
  set part = x.part, section = x.section, content_disposition = x.content_disposition, content_id = x.content_id, size = x.size
  from jsonb_to_recordset($1::jsonb) x(id uuid, part integer, section text, content_disposition text, content_id text, size integer)
  where f.id = x.id`;

/**
 * Lets the files of messages that their copies have, too, keep their ids, and stores where the
 * copies have them. The caller has locked the messages, and deletes and inserts the other files.
 */
export async function keepFiles(
  sql: Sql,
  owner: Pick<ChangeRecord, 'applicationId' | 'accountId' | 'at'>,
  copies: readonly CopiedFiles[],
): Promise<KeptFiles> {
  const stored = await sql.query<StoredFile>(STORED, [copies.map(({ id }) => id)]);
  const before = Map.groupBy(stored, ({ messageId }) => messageId);
  const pairs = copies.flatMap(({ id, files }) => pairFiles(before.get(id) ?? [], files));
  const moved = pairs.map(([{ id }, file]) => ({ ...file, id }));
  if (moved.length > 0) await sql.query(MOVE, [recordset(moved)]);
  const parts = Map.groupBy(pairs, ([{ messageId }]) => messageId);
  return {
    ids: moved.map(({ id }) => id),
    parts: new Map([...parts].map(([id, some]) => [id, new Set(some.map(([, { part }]) => part))])),
    changes: pairs.flatMap(([file, copy]): ChangeRecord[] =>
      looksSame(file, copy)
        ? []
        : [{ ...owner, object: 'file', objectId: file.id, event: 'modify' }],
    ),
  };
}

const looksSame = (one: ParsedFile, other: ParsedFile): boolean =>
  one.contentDisposition === other.contentDisposition &&
  one.contentId === other.contentId &&
  one.size === other.size;
