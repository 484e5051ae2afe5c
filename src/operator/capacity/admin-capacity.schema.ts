import { z } from 'zod';

const bytes = z.number();
const perDay = z
  .number()
  .nullable()
  .describe('Average over the last week; null without sizes of at least a day ago');

/** `GET /admin/capacity`. */
export const capacityView = z
  .object({
    at: z.number().int().describe('When the figures were read, in Unix seconds'),
    database_bytes: bytes.describe('Size of the database in bytes'),
    bytes_per_day: perDay,
    tables: z
      .array(
        z.object({
          table: z.string().describe('Name of the table'),
          rows: z.number().nullable().describe("PostgreSQL's estimate; null if never analyzed"),
          bytes: bytes.describe('With indexes and long values'),
          index_bytes: bytes.describe('Part of `bytes` that indexes take'),
          dead_rows: z.number().describe('Deleted rows whose space is not free yet; estimate'),
          bytes_per_day: perDay,
          rows_per_day: perDay,
        }),
      )
      .describe('Largest first'),
    retention: z
      .array(
        z.object({
          what: z.string().describe('Kind of data, in words'),
          tables: z.array(z.string()).describe('Names of the tables that store it'),
          kept: z.string().describe('How long it is kept'),
          setting: z.string().nullable().describe('The variable that changes it; null: fixed'),
        }),
      )
      .describe('What grows, and how long it is kept'),
    history: z
      .array(
        z.object({
          day: z.string().describe('Day in UTC, `YYYY-MM-DD`'),
          bytes: bytes.describe('Size in bytes'),
        }),
      )
      .describe('Size of the database by day, oldest first, at most 90 days'),
    disk: z
      .object({
        limit_bytes: bytes.nullable().describe('Space for the database; null if it is not known'),
        source: z
          .enum(['setting', 'disk'])
          .nullable()
          .describe('`setting`: DATABASE_DISK_GB; `disk`: file system of the embedded database'),
        free_bytes: bytes.nullable().describe('Free space in bytes; null if it is not known'),
        full_at: z
          .number()
          .int()
          .nullable()
          .describe('When the disk is full at this pace; null if it does not fill or is not known'),
      })
      .describe('Space for the database, and how long it lasts'),
  })
  .meta({
    id: 'Capacity',
    example: {
      at: 1_700_000_000,
      database_bytes: 52_000_000_000,
      bytes_per_day: 310_000_000,
      tables: [
        {
          table: 'message_content',
          rows: 4_100_000,
          bytes: 31_000_000_000,
          index_bytes: 210_000_000,
          dead_rows: 1_200,
          bytes_per_day: 190_000_000,
          rows_per_day: 26_000,
        },
      ],
      retention: [{ what: 'Change log', tables: ['change'], kept: '14 days', setting: null }],
      history: [{ day: '2026-11-23', bytes: 51_700_000_000 }],
      disk: {
        limit_bytes: 107_374_182_400,
        source: 'setting',
        free_bytes: 55_374_182_400,
        full_at: 1_715_400_000,
      },
    },
  });
