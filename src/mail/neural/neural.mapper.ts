import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { toUnixSeconds } from '../../platform/base/time/unix-seconds.ts';
import { toMessageView } from '../messages/messages.mapper.ts';
import type {
  CategorizerView,
  ConversationBody,
  RecategorizedView,
  SentimentView,
  SignatureBody,
} from './neural.schema.ts';
import type { Found, MessageCategory, TextSentiment } from './neural.service.ts';
import type { CleanOptions } from './text/clean-message.ts';
import type { SignatureContacts } from './text/signature-contacts.ts';
import type { Signature } from './text/signature.ts';

/**
 * Names of the method that found a result: the version of our rules, and the library they use. A
 * version grows with every change that can change results.
 */
export const MODEL_VERSIONS = {
  conversation: 'carillon-rules-2+planer-1.2',
  signature: 'carillon-rules-2+email-reply-parser-2.3',
  categorize: 'carillon-rules-2',
  byUser: 'user-feedback',
} as const;

/** The flags of a request body. An absent flag is true. */
export function toCleanOptions(body: ConversationBody | SignatureBody): CleanOptions {
  return {
    ignoreLinks: body.ignore_links ?? body.ignoreLinks ?? true,
    ignoreImages: body.ignore_images ?? body.ignoreImages ?? true,
    ignoreTables: body.ignore_tables ?? body.ignoreTables ?? true,
    removeConclusionPhrases: body.remove_conclusion_phrases ?? body.removeConclusionPhrases ?? true,
    imagesAsMarkdown:
      body.images_as_markdown ?? body.imagesAsMarkdown ?? body.images_as_markdowns ?? true,
  };
}

export const toSentimentView = (
  { accountId }: AccountPrincipal,
  { sentiment, score, text }: TextSentiment,
): SentimentView => ({
  account_id: accountId,
  sentiment,
  sentiment_score: score,
  processed_length: text.length,
  text,
});

export const toConversationView = (
  { organizationUnit }: AccountPrincipal,
  { message, found }: Found<string>,
) => ({
  ...toMessageView(message, organizationUnit),
  conversation: found,
  model_version: MODEL_VERSIONS.conversation,
});

export const toSignatureView = (
  { organizationUnit }: AccountPrincipal,
  { message, found }: Found<Signature>,
) => ({
  ...toMessageView(message, organizationUnit),
  signature: found.signature,
  model_version: MODEL_VERSIONS.signature,
  ...(found.contacts === null ? {} : { contacts: contactsView(found.contacts) }),
});

/**
 * Clients turn these lists into a contact. Of names and job titles they take the first one without
 * a check whether there is any, so these two are left out when they are empty. The other lists are
 * read in a loop and must be present.
 */
const contactsView = ({ jobTitles, links, phoneNumbers, emails, names }: SignatureContacts) => ({
  ...(jobTitles.length > 0 ? { job_titles: jobTitles } : {}),
  links,
  phone_numbers: phoneNumbers,
  emails,
  ...(names.length > 0
    ? { names: names.map((name) => ({ first_name: name.firstName, last_name: name.lastName })) }
    : {}),
});

const categorizerView = (found: MessageCategory): CategorizerView => ({
  category: found.category,
  categorized_at: toUnixSeconds(found.categorizedAt),
  model_version: found.isByUser ? MODEL_VERSIONS.byUser : MODEL_VERSIONS.categorize,
  subcategories: found.subcategories,
});

export const toCategorizeView = (
  { organizationUnit }: AccountPrincipal,
  { message, found }: Found<MessageCategory>,
) => {
  const { labels, ...view } = toMessageView(message, organizationUnit);
  // The clients for Java and Ruby expect texts here, unlike in messages.
  const names = labels && { labels: labels.map((label) => label.display_name) };
  return { ...view, ...names, categorizer: categorizerView(found) };
};

export const toRecategorizedView = (
  { accountId }: AccountPrincipal,
  {
    messageId,
    before,
    after,
  }: { messageId: string; before: MessageCategory; after: MessageCategory },
): RecategorizedView => ({
  account_id: accountId,
  message_id: messageId,
  category: after.category,
  is_primary_label: 'true',
  recategorized_at: toUnixSeconds(after.categorizedAt),
  recategorized_from: categorizerView(before),
  subcategories: after.subcategories,
});
