import { z } from 'zod';
import { integerLike } from '../../platform/wire/wire.schema.ts';
import { fileView } from '../files/files.schema.ts';
import { messageView } from '../messages/messages.schema.ts';
import { CATEGORIES } from './text/categorize.ts';

const MOST_MESSAGES = 5;
const MOST_PAGES = 5;
const MOST_TEXT = 1000;
const MESSAGE = '019aa1b2-0000-7000-8000-000000000001';
const ACCOUNT = '019aa1b2-0000-7000-8000-000000000002';
const FILE = '019aa1b2-0000-7000-8000-000000000009';

const id = z.string().max(255, 'must not be longer than 255 characters');
// Some clients send a single id without a list.
const messageId = z
  .union([id, z.array(id)], 'must be an id or a list of ids')
  .transform((ids) => [ids].flat())
  .refine((ids) => ids.length > 0, 'must have at least one id')
  .refine((ids) => ids.length <= MOST_MESSAGES, `must not have more than ${MOST_MESSAGES} ids`);
const text = z
  .string()
  .min(1, 'must not be empty')
  .max(MOST_TEXT, `must not be longer than ${MOST_TEXT} characters`);
const flag = (what: string) => z.boolean().optional().describe(what);
const same = (name: string) => flag(`The same as ${name}: the spelling of an official client`);

/** Flags of signature and conversation. An absent flag is true. */
const flags = {
  ignore_links: flag(
    'Default true: only the text of links is kept; otherwise links are `[text](address)`',
  ),
  ignore_images: flag('Default true: images are removed'),
  ignore_tables: flag(
    'Default true: rows of tables become lines; otherwise data tables become Markdown tables',
  ),
  remove_conclusion_phrases: flag(
    'Default true: closing phrases such as "Best regards," are removed',
  ),
  images_as_markdown: flag(
    "Default true: `![description](address)`; otherwise `<img src='address'>`",
  ),
  // The official client for Node sends the options of `conversation` in camel case; the one for
  // Python has its own name for the last one.
  ignoreLinks: same('ignore_links'),
  ignoreImages: same('ignore_images'),
  ignoreTables: same('ignore_tables'),
  removeConclusionPhrases: same('remove_conclusion_phrases'),
  imagesAsMarkdown: same('images_as_markdown'),
  images_as_markdowns: same('images_as_markdown'),
};

/** Body of `PUT /neural/sentiment`. */
export const sentimentBody = z
  .object({ text: text.optional(), message_id: messageId.optional() })
  .refine((body) => (body.text === undefined) !== (body.message_id === undefined), {
    error: 'give either text or message_id',
    path: ['text'],
  })
  .meta({ id: 'AnalyseSentiment', example: { text: 'Thank you, this is great!' } });

export const sentimentView = z
  .object({
    account_id: z.string(),
    sentiment: z.enum(['POSITIVE', 'NEGATIVE', 'NEUTRAL']),
    sentiment_score: z.number().describe('From -1 (negative) to 1 (positive)'),
    processed_length: z
      .number()
      .int()
      .describe('Number of characters that were analysed, 1000 at most'),
    text: z.string().describe('The text that was analysed'),
  })
  .meta({
    id: 'Sentiment',
    example: {
      account_id: ACCOUNT,
      sentiment: 'POSITIVE',
      sentiment_score: 0.77,
      processed_length: 25,
      text: 'Thank you, this is great!',
    },
  });
export type SentimentView = z.infer<typeof sentimentView>;
/** One object for a text, an array for messages. */
export const sentimentAnswer = z.union([sentimentView, z.array(sentimentView)]);

/** Body of `PUT /neural/conversation`. */
export const conversationBody = z
  .object({ message_id: messageId, ...flags })
  .meta({ id: 'CleanConversation', example: { message_id: [MESSAGE], ignore_links: false } });
export type ConversationBody = z.infer<typeof conversationBody>;

const modelVersion = z.string().describe('The method that found the result');
export const conversationView = messageView
  .extend({
    conversation: z
      .string()
      .describe('The written text as Markdown, without quotations and signature'),
    model_version: modelVersion,
  })
  .meta({ id: 'NeuralConversation' });
export const conversationList = z.array(conversationView);

/** Body of `PUT /neural/signature`. */
export const signatureBody = z
  .object({
    message_id: messageId,
    ...flags,
    parse_contacts: flag('Default true: `contacts` is answered'),
    parseContacts: same('parse_contacts'),
    parse_contact: same('parse_contacts'),
  })
  .meta({ id: 'ExtractSignature', example: { message_id: [MESSAGE], parse_contacts: true } });
export type SignatureBody = z.infer<typeof signatureBody>;

// Clients read the first entry of the two optional lists if they are present.
const contacts = z
  .object({
    job_titles: z.array(z.string()).optional().describe('Absent if none was found'),
    links: z.array(z.object({ description: z.string(), url: z.string() })),
    phone_numbers: z.array(z.string()).describe('With country code (E.164)'),
    emails: z.array(z.string()),
    names: z
      .array(z.object({ first_name: z.string(), last_name: z.string() }))
      .optional()
      .describe('Absent if none was found'),
  })
  .meta({
    id: 'SignatureContacts',
    example: {
      job_titles: ['Head of Sales'],
      links: [{ description: 'Acme', url: 'https://acme.example' }],
      phone_numbers: ['+14155552671'],
      emails: ['bo@acme.example'],
      names: [{ first_name: 'Bo', last_name: 'Smith' }],
    },
  });
export const signatureView = messageView
  .extend({
    signature: z.string().describe('Empty if the message has no signature'),
    model_version: modelVersion,
    contacts: contacts.optional().describe('Absent if parse_contacts is false'),
  })
  .meta({ id: 'NeuralSignature' });
export const signatureList = z.array(signatureView);

/** Body of `PUT /neural/categorize`. */
export const categorizeBody = z
  .object({
    message_id: messageId.optional(),
    messageId: messageId
      .optional()
      .describe('The same as message_id, as a client for PHP spells it'),
    only_category: z
      .boolean()
      .nullish()
      .describe('Has no effect: the response always contains the whole messages'),
  })
  .refine((body) => body.message_id ?? body.messageId, {
    error: 'is required',
    path: ['message_id'],
  })
  .meta({ id: 'Categorize', example: { message_id: [MESSAGE] } });

const category = z.enum(CATEGORIES, `must be one of: ${CATEGORIES.join(', ')}`);
const categorizer = z
  .object({
    category,
    categorized_at: z.number().int(),
    model_version: modelVersion,
    subcategories: z
      .array(z.string())
      .describe('The values are listed in docs/neural.md; the list may be empty'),
  })
  .meta({
    id: 'Categorizer',
    example: {
      category: 'feed',
      categorized_at: 1_900_000_000,
      model_version: 'carillon-rules-2',
      subcategories: ['newsletter'],
    },
  });
export type CategorizerView = z.infer<typeof categorizer>;
export const categorizeView = messageView
  .extend({
    categorizer,
    labels: z
      .array(z.string())
      .optional()
      .describe('Only for accounts with labels: their display names'),
  })
  .meta({ id: 'NeuralCategorizer', example: undefined });
export const categorizeList = z.array(categorizeView);

/** What a client for PHP sends for the default; the file may have fewer pages. */
const DEFAULT_PAGES = '1,2,3,4,5';

/** Page numbers, also accepted as texts with several numbers and commas. */
const pages = z
  .preprocess(
    (given) =>
      Array.isArray(given)
        ? given.flatMap((page: unknown) => {
            if (typeof page !== 'string') return [page];
            return page === DEFAULT_PAGES ? [] : page.split(',');
          })
        : given,
    z
      .array(integerLike({ min: 1, max: 100_000 }))
      .max(MOST_PAGES, `must not have more than ${MOST_PAGES} pages`)
      .nullable(),
  )
  .optional()
  .describe('Page numbers, from 1. Absent, null or empty: the first five pages');

/** Body of `PUT /neural/ocr`. */
export const ocrBody = z
  .object({ file_id: id, pages })
  .meta({ id: 'RecognizeText', example: { file_id: FILE } });

export const ocrView = fileView
  .extend({
    ocr: z.array(z.string()).describe('The text of each page, in the requested order'),
    processed_pages: z.number().int(),
  })
  .meta({ id: 'NeuralOcr' });

/** Body of `POST /neural/sentiment/feedback`. */
export const sentimentFeedbackBody = z
  .object({
    message_id: id.optional(),
    text: text.optional(),
    sentiment: z
      .string()
      .transform((value) => value.toUpperCase())
      .pipe(z.enum(['POSITIVE', 'NEGATIVE', 'NEUTRAL'], 'must be positive, negative or neutral'))
      .describe('positive, negative or neutral; upper or lower case'),
    overwrite: z
      .boolean()
      .optional()
      .describe('Default false: earlier feedback is not replaced (409)'),
  })
  .refine((body) => (body.text === undefined) !== (body.message_id === undefined), {
    error: 'give either text or message_id',
    path: ['message_id'],
  })
  .meta({ id: 'SentimentFeedback', example: { message_id: MESSAGE, sentiment: 'neutral' } });

export const sentimentFeedbackView = z
  .object({
    account_id: z.string(),
    message_id: z.string().optional(),
    text: z.string().optional(),
    sentiment: z.enum(['POSITIVE', 'NEGATIVE', 'NEUTRAL']),
  })
  .meta({
    id: 'SentimentFeedbackAnswer',
    example: { account_id: ACCOUNT, message_id: MESSAGE, sentiment: 'NEUTRAL' },
  });

const MOST_COMMENT = 10_000;
const comment = (what: string) =>
  z
    .string()
    .max(MOST_COMMENT, `must not be longer than ${MOST_COMMENT} characters`)
    .optional()
    .describe(what);

/** Body of `POST /neural/conversation/feedback`. */
export const conversationFeedbackBody = z
  .object({ message_id: id, conversation: comment('The correct text') })
  .meta({ id: 'ConversationFeedback', example: { message_id: MESSAGE } });

/** Body of `POST /neural/signature/feedback`. */
export const signatureFeedbackBody = z
  .object({ message_id: id, signature: comment('The correct signature') })
  .meta({ id: 'SignatureFeedback', example: { message_id: MESSAGE, signature: 'Bo Smith' } });

/** Body of `POST /neural/ocr/feedback`. */
export const ocrFeedbackBody = z
  .object({ file_id: id, text: comment('The correct text') })
  .meta({ id: 'OcrFeedback', example: { file_id: FILE } });

/** Body of `POST /neural/categorize/feedback`. */
export const categorizeFeedbackBody = z
  .object({ message_id: id, category })
  .meta({ id: 'CategorizeFeedback', example: { message_id: MESSAGE, category: 'conversation' } });

export const recategorizedView = z
  .object({
    account_id: z.string(),
    message_id: z.string(),
    category,
    is_primary_label: z.literal('true'),
    recategorized_at: z.number().int(),
    recategorized_from: categorizer.describe('The category before the change'),
    subcategories: z.array(z.string()),
  })
  .meta({
    id: 'Recategorized',
    example: {
      account_id: ACCOUNT,
      message_id: MESSAGE,
      category: 'conversation',
      is_primary_label: 'true',
      recategorized_at: 1_900_000_100,
      recategorized_from: {
        category: 'feed',
        categorized_at: 1_900_000_000,
        model_version: 'carillon-rules-2',
        subcategories: ['newsletter'],
      },
      subcategories: [],
    },
  });
export type RecategorizedView = z.infer<typeof recategorizedView>;
