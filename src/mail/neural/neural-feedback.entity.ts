import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../../platform/database/base-columns.ts';
import { Grant } from '../../accounts/grants/grant.entity.ts';
import { Message } from '../messages/message.entity.ts';

/** Results that feedback can be about. */
export const FEEDBACK_KINDS = [
  'sentiment',
  'signature',
  'ocr',
  'categorize',
  'conversation',
] as const;
export type FeedbackKind = (typeof FEEDBACK_KINDS)[number];

const NeuralFeedbackSchema = defineEntity({
  name: 'NeuralFeedback',
  tableName: 'neural_feedback',
  uniques: [{ name: 'neural_feedback_subject', properties: ['account', 'kind', 'subject'] }],
  indexes: [{ name: 'neural_feedback_message', properties: ['message'] }],
  properties: {
    ...idColumn,
    account: () => p.manyToOne(Grant).ref().deleteRule('cascade'),
    kind: p.enum(FEEDBACK_KINDS),
    /**
     * Subject of the feedback: the id of a message or file, or `sha256:` and the hash of a text.
     */
    subject: p.text(),
    /** The message, if the feedback is about one. The feedback is deleted with it. */
    message: () => p.manyToOne(Message).ref().nullable().deleteRule('cascade'),
    /** The user's correction, and the earlier result. */
    content: p.json<Record<string, unknown>>(),
    createdAt: p.datetime().columnType('timestamptz'),
    updatedAt: p.datetime().columnType('timestamptz'),
  },
});

/** Feedback of a user on a result. New feedback replaces earlier feedback. */
export class NeuralFeedback extends NeuralFeedbackSchema.class {}
NeuralFeedbackSchema.setClass(NeuralFeedback);
