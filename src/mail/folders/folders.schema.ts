import { z } from 'zod';
import { pageQuery, listViewQuery } from '../../platform/wire/pagination.schema.ts';
import { listByView } from '../../platform/wire/response-shapes.ts';

/** No provider accepts longer names. */
const LONGEST_NAME = 255;

const displayName = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(LONGEST_NAME, `must not be longer than ${LONGEST_NAME} characters`)
  .regex(/^\P{Cc}*$/u, 'must not contain control characters')
  .refine(
    (name) => name.split('/').every((level) => level.trim() !== ''),
    'must not have empty levels between slashes',
  )
  .describe('Levels of a hierarchy are separated by /');

/** Query of `GET /folders` and `GET /labels`. */
export const listFoldersQuery = z.object({ ...pageQuery, view: listViewQuery() });

/** Body of `POST /folders` and `POST /labels`. */
export const createFolder = z
  .object({
    display_name: displayName.nullish(),
    name: displayName.or(z.literal('')).nullish().describe('Used if display_name is absent'),
  })
  .refine(({ display_name, name }) => display_name ?? name, {
    error: 'is required',
    path: ['display_name'],
  })
  .meta({ id: 'CreateFolder', example: { display_name: 'Invoices' } });
export type CreateFolder = z.infer<typeof createFolder>;

/** Body of `PUT /folders/{id}` and `PUT /labels/{id}`. */
export const updateFolder = z
  .object({
    display_name: displayName.nullish().describe('Null: no change'),
    name: displayName
      .or(z.literal(''))
      .nullish()
      .describe('Used if display_name is absent. Standard names such as sent cannot be given'),
  })
  .meta({ id: 'UpdateFolder', example: { display_name: 'Invoices/2026' } });
export type UpdateFolder = z.infer<typeof updateFolder>;

const fields = <O extends 'folder' | 'label'>(object: O) => ({
  id: z.string(),
  object: z.literal(object),
  account_id: z.string(),
  name: z
    .string()
    .nullable()
    .describe(
      'inbox, sent, drafts, trash, spam, archive, all or important; null for user-made folders',
    ),
  display_name: z.string(),
  job_status_id: z
    .string()
    .optional()
    .describe('Only after a change: id of the job that carries it to the provider'),
});
const example = {
  id: '019aa1b2-0000-7000-8000-000000000008',
  account_id: '019aa1b2-0000-7000-8000-000000000002',
  name: null,
  display_name: 'Invoices',
};

/** A folder in a response. */
export const folderView = z
  .object(fields('folder'))
  .meta({ id: 'Folder', example: { ...example, object: 'folder' } });
/** A label in a response, with the same fields as a folder. */
export const labelView = z
  .object(fields('label'))
  .meta({ id: 'Label', example: { ...example, object: 'label' } });

/** Responses of the lists, by `view`. */
export const folderList = listByView(folderView);
export const labelList = listByView(labelView);
