import { defineEntity, p } from '@mikro-orm/core';
import { idColumn } from '../../platform/database/base-columns.ts';
import { Grant } from '../../accounts/grants/grant.entity.ts';
import { Message } from '../messages/message.entity.ts';

/** What feedback can be about. */
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
    /** What it is about: the id of a message or a file, or `sha256:` of a text. */
    subject: p.text(),
    /** When it is about a message; the feedback goes with it. */
    message: () => p.manyToOne(Message).ref().nullable().deleteRule('cascade'),
    /** What the user says is right, and what had been answered. */
    content: p.json<Record<string, unknown>>(),
    createdAt: p.datetime().columnType('timestamptz'),
    updatedAt: p.datetime().columnType('timestamptz'),
  },
});

/** What a user says about an answer; the last word counts. */
export class NeuralFeedback extends NeuralFeedbackSchema.class {}
NeuralFeedbackSchema.setClass(NeuralFeedback);
