import { z } from 'zod';
import { pageQuery, listViewQuery } from '../../platform/wire/pagination.schema.ts';
import { listByView } from '../../platform/wire/response-shapes.ts';
import { queryText } from '../../platform/wire/wire.schema.ts';

/** Query of `GET /files`. All filters must match. */
export const listFilesQuery = z.object({
  ...pageQuery,
  view: listViewQuery(),
  filename: queryText().optional().describe('The exact file name'),
  message_id: queryText().optional(),
  content_type: queryText().optional().describe('The exact media type'),
});
export type ListFilesQuery = z.infer<typeof listFilesQuery>;

/** A file: an upload, or an attachment of a message. */
export const fileView = z
  .object({
    id: z.string(),
    object: z.literal('file'),
    account_id: z.string(),
    content_type: z.string(),
    filename: z.string(),
    size: z
      .number()
      .int()
      .describe('Bytes; an estimate for some attachments of very large messages'),
    message_ids: z.array(z.string()).describe('Messages and drafts that contain the file'),
    content_id: z.string().optional(),
    content_disposition: z
      .string()
      .optional()
      .describe('Only for attachments: `attachment` or `inline`'),
  })
  .meta({
    id: 'File',
    example: {
      id: '019aa1b2-0000-7000-8000-000000000009',
      object: 'file',
      account_id: '019aa1b2-0000-7000-8000-000000000002',
      content_type: 'text/plain',
      filename: 'menu.txt',
      size: 61,
      message_ids: ['019aa1b2-0000-7000-8000-000000000001'],
      content_disposition: 'attachment',
    },
  });
export type FileView = z.infer<typeof fileView>;
export const fileList = listByView(fileView);

/** Response of `POST /files`. */
export const uploadedFiles = z.array(fileView);

/** Response of `DELETE /files/{id}`. */
export const deletedFile = z.null();

/** The bytes of a file. The schema only documents the response; nothing is serialised with it. */
export const fileBytes = z
  .unknown()
  .meta({ id: 'FileBytes', description: 'The bytes of the file' });
