import type { Action, Group } from './api-group.ts';

const found = (what: string, summary: string): Action => ({
  verb: 'PUT',
  path: `/neural/${what}`,
  body: true,
  summary,
});
const feedback = (what: string, summary: string): Action => ({
  verb: 'POST',
  path: `/neural/${what}/feedback`,
  body: true,
  summary,
});

/** Group `neural` of the `api` command. */
export const NEURAL: Group = {
  summary: 'What machines find in messages and files, on the server itself',
  credentials: 'access token',
  columns: ['id', 'subject', 'categorizer.category', 'signature', 'conversation'],
  actions: {
    sentiment: {
      ...found('sentiment', 'How a text or messages feel'),
      columns: ['sentiment', 'sentiment_score', 'text'],
    },
    signature: found('signature', 'Signatures of messages'),
    ocr: { ...found('ocr', 'The text of an image or a PDF file'), columns: ['filename', 'ocr'] },
    categorize: found('categorize', 'Whether messages are conversations or feeds'),
    conversation: found('conversation', 'What was written, without quotations and signatures'),
    'sentiment-feedback': feedback('sentiment', 'Say how a text or a message feels'),
    'signature-feedback': feedback('signature', 'Say that a signature was wrong'),
    'ocr-feedback': feedback('ocr', 'Say that the text of a file was wrong'),
    'categorize-feedback': feedback('categorize', 'Say what a message is'),
    'conversation-feedback': feedback('conversation', 'Say that a conversation was wrong'),
  },
};
