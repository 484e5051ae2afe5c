import { z } from 'zod';
import { pageQuery, viewQuery } from '../platform/wire/pagination.schema.ts';
import { queryBoolean, queryText } from '../platform/wire/wire.schema.ts';
import { listByView } from '../platform/wire/response-shapes.ts';
import { ADDRESS_PARTS, groupName, isDay } from '../providers/port/contact-content.ts';

const text = (most: number) => z.string().max(most, `must not be longer than ${most} characters`);

/** `undefined` if the field was not sent. `null` and the empty string both clear it. */
const clearable = (most: number) =>
  text(most)
    .nullish()
    .transform((value) => (value === undefined ? undefined : value?.trim() || null))
    .describe('An empty string or null clears the field');

const needed = (most: number) => text(most).trim().min(1, 'must not be empty');

const type = text(100)
  .nullish()
  .transform((value) => value?.trim() || null);

const MOST_ENTRIES = 100;

/**
 * A list in a request. `null` means "not sent": the official client sends it for fields it has not
 * set.
 */
const listOf = <T extends z.ZodType>(entry: T) =>
  z
    .array(entry)
    .max(MOST_ENTRIES, `must not have more than ${MOST_ENTRIES} entries`)
    .nullish()
    .transform((value) => value ?? undefined);

const birthday = z
  .string()
  .trim()
  .refine((value) => value === '' || isDay(value), 'must be a date such as 1990-12-31')
  .nullish()
  .transform((value) => (value === undefined ? undefined : value || null))
  .meta({ format: 'date' });

const part = text(500)
  .nullish()
  .transform((value) => value?.trim() ?? '');

const physicalAddress = z.object({
  type,
  format: z
    .union([z.literal(''), z.enum(['structured', 'unstructured'])], {
      error: 'must be structured or unstructured',
    })
    .nullish()
    .transform((value) => value || undefined),
  ...(Object.fromEntries(ADDRESS_PARTS.map((name) => [name, part])) as Record<
    (typeof ADDRESS_PARTS)[number],
    typeof part
  >),
  address: text(2048)
    .nullish()
    .transform((value) => value?.trim() ?? '')
    .describe('The whole address, for the format `unstructured`'),
});

/** The official client sends groups back without their ids. */
const groupInput = z
  .union(
    [
      z.string().transform((id) => ({ id })),
      z.object({ id: text(255).nullish(), path: text(255).nullish(), name: text(255).nullish() }),
    ],
    { error: 'must be the id of a group, or an object with its id or path' },
  )
  .transform((group, context): { id: string } | { path: string } => {
    if (group.id) return { id: group.id };
    const path = 'path' in group ? groupName(group.path || group.name) : '';
    if (path) return { path };
    context.addIssue({
      code: 'custom',
      message: 'must be the id of a group, or an object with its id or path',
    });
    return z.NEVER;
  });
export type GroupInput = z.infer<typeof groupInput>;

const fields = {
  given_name: clearable(255),
  middle_name: clearable(255),
  surname: clearable(255),
  suffix: clearable(255),
  nickname: clearable(255),
  birthday,
  company_name: clearable(255),
  job_title: clearable(255),
  manager_name: clearable(255),
  office_location: clearable(255),
  notes: clearable(65_536),
  emails: listOf(z.object({ type, email: needed(320) })),
  im_addresses: listOf(z.object({ type, im_address: needed(500) })),
  physical_addresses: listOf(physicalAddress),
  phone_numbers: listOf(z.object({ type, number: needed(100) })),
  web_pages: listOf(z.object({ type, url: needed(2048) })),
  groups: listOf(groupInput).describe(
    'All groups of the contact: ids, or objects with an id or a path. A path that does not exist yet creates a group',
  ),
  group: text(255)
    .nullish()
    .transform((value) => value || undefined)
    .describe('Id of a group to add the contact to'),
};

/** Body of `POST /contacts`. Every field is optional. */
export const createContact = z.object(fields).meta({
  id: 'CreateContact',
  example: {
    given_name: 'Ada',
    surname: 'Lovelace',
    birthday: '1815-12-10',
    company_name: 'Analytical Engines',
    emails: [{ type: 'work', email: 'ada@example.test' }],
    phone_numbers: [{ type: 'mobile', number: '+44 20 7946 0000' }],
    physical_addresses: [
      {
        type: 'work',
        format: 'structured',
        street_address: "12 St James's Square",
        city: 'London',
        state: '',
        postal_code: 'SW1Y 4JH',
        country: 'GB',
      },
    ],
  },
});
export type CreateContact = z.infer<typeof createContact>;

/**
 * Body of `PUT` and `PATCH /contacts/{id}`. Fields that are not sent keep their values; lists are
 * replaced as a whole.
 */
export const updateContact = z
  .object(fields)
  .refine((body) => Object.values(body).some((value) => value !== undefined), {
    message: 'Empty request body: send at least one field of the contact',
  })
  .meta({ id: 'UpdateContact', example: { job_title: 'Countess' } });
export type UpdateContact = z.infer<typeof updateContact>;

/** Query of `GET /contacts/groups`. Without `limit`, all groups are returned. */
export const listGroupsQuery = z.object({
  limit: pageQuery.limit.removeDefault().optional().describe('Page size, 0 to 1000; default: all'),
  offset: pageQuery.offset,
});
export type ListGroupsQuery = z.infer<typeof listGroupsQuery>;

/** Query of `GET /contacts`. All filters must match. */
export const listContactsQuery = z.object({
  ...pageQuery,
  view: viewQuery(['ids', 'count', 'expanded']).describe(
    '`expanded` adds `warnings` to each contact',
  ),
  email: queryText().optional(),
  phone_number: queryText().optional().describe('Only the digits are compared'),
  street_address: queryText().optional(),
  postal_code: queryText().optional(),
  state: queryText().optional(),
  country: queryText().optional(),
  source: z.enum(['address_book', 'inbox'], { error: 'must be address_book or inbox' }).optional(),
  group: queryText().optional().describe('Id of a group'),
  recurse: queryBoolean().optional().describe('True to include the groups below `group`'),
});
export type ListContactsQuery = z.infer<typeof listContactsQuery>;

/** Query of `GET /contacts/{id}`. */
export const readContactQuery = z.object({
  view: viewQuery(['expanded']).describe('`expanded` adds `warnings`'),
});
export type ReadContactQuery = z.infer<typeof readContactQuery>;

export const contactGroupView = z
  .object({
    id: z.string(),
    object: z.literal('contact_group'),
    account_id: z.string(),
    name: z.string().describe('The last part of the path'),
    path: z.string().describe('Full name of the group; levels are separated by `/`'),
  })
  .meta({
    id: 'ContactGroup',
    example: {
      id: '019aa1b2-0000-7000-8000-000000000004',
      object: 'contact_group',
      account_id: '019aa1b2-0000-7000-8000-000000000001',
      name: 'Choir',
      path: 'Friends/Choir',
    },
  });
export type ContactGroupView = z.infer<typeof contactGroupView>;

const typed = { type: z.string().nullable() };
const none = z.string().nullable();

/** A contact in a response. */
export const contactView = z
  .object({
    id: z.string(),
    object: z.literal('contact'),
    account_id: z.string(),
    source: z.enum(['address_book', 'inbox']),
    given_name: none,
    middle_name: none,
    surname: none,
    suffix: none,
    nickname: none,
    birthday: none.describe('YYYY-MM-DD'),
    company_name: none,
    job_title: none,
    manager_name: none,
    office_location: none,
    notes: none,
    picture_url: none.describe(
      'Address of the picture, to be requested with the access token; null if the contact has none',
    ),
    emails: z.array(z.object({ ...typed, email: z.string() })),
    im_addresses: z.array(z.object({ ...typed, im_address: z.string() })),
    physical_addresses: z.array(
      z.union([
        z.object({
          ...typed,
          format: z.literal('structured'),
          street_address: z.string(),
          city: z.string(),
          state: z.string(),
          postal_code: z.string(),
          country: z.string(),
        }),
        z.object({ ...typed, format: z.literal('unstructured'), address: z.string() }),
      ]),
    ),
    phone_numbers: z.array(z.object({ ...typed, number: z.string() })),
    web_pages: z.array(z.object({ ...typed, url: z.string() })),
    groups: z.array(contactGroupView),
    warnings: z
      .array(z.string())
      .optional()
      .describe(
        'Only with view=expanded: what could not be read of the address card and is left out here, in plain words',
      )
      .meta({
        example: [
          'The line "LABEL;TYPE=work" cannot be read and is left out: its parameters or its value are malformed',
        ],
      }),
    job_status_id: z
      .string()
      .optional()
      .describe('Only in responses to creating and updating a contact'),
  })
  .meta({
    id: 'Contact',
    example: {
      id: '019aa1b2-0000-7000-8000-000000000002',
      object: 'contact',
      account_id: '019aa1b2-0000-7000-8000-000000000001',
      source: 'address_book',
      given_name: 'Ada',
      middle_name: null,
      surname: 'Lovelace',
      suffix: null,
      nickname: null,
      birthday: '1815-12-10',
      company_name: 'Analytical Engines',
      job_title: null,
      manager_name: null,
      office_location: null,
      notes: null,
      picture_url: null,
      emails: [{ type: 'work', email: 'ada@example.test' }],
      im_addresses: [],
      physical_addresses: [],
      phone_numbers: [{ type: 'mobile', number: '+44 20 7946 0000' }],
      web_pages: [],
      groups: [],
      job_status_id: '019aa1b2-0000-7000-8000-000000000003',
    },
  });
export type ContactView = z.infer<typeof contactView>;

/** Response of `GET /contacts`, by `view`. */
export const contactList = listByView(contactView);
export const contactGroupList = z.array(contactGroupView);

/**
 * The bytes of a picture. The schema only documents the response; nothing is serialised with it.
 */
export const pictureBytes = z
  .unknown()
  .meta({ id: 'PictureBytes', description: 'The bytes of the image' });
