import type { Categorized, CategorizeInput } from '../text/categorize.ts';
import type { CleanOptions, MessageInput } from '../text/clean-message.ts';
import type { SentimentResult } from '../text/sentiment.ts';
import type { Signature } from '../text/signature.ts';

/** A message to take apart. */
export type TextInput = MessageInput & { fromEmail: string };

/** What a thread can be asked, by name: input and answer. */
export interface Tasks {
  sentiment: {
    input: { texts: readonly string[]; messages: readonly TextInput[]; careful: boolean };
    /** Of the texts, then of the messages; `text` is what was looked at. */
    output: (SentimentResult & { text: string })[];
  };
  conversation: {
    input: { messages: readonly TextInput[]; options: CleanOptions; careful: boolean };
    output: string[];
  };
  signature: {
    input: {
      messages: readonly TextInput[];
      options: CleanOptions;
      parseContacts: boolean;
      careful: boolean;
    };
    output: Signature[];
  };
  categorize: {
    input: { messages: readonly CategorizeInput[]; careful: boolean };
    output: Categorized[];
  };
  ocr: {
    /** `pages`: numbers from 1; null: the first ones. */
    input: { bytes: Uint8Array; pages: readonly number[] | null };
    /** The text of each page. */
    output: string[];
  };
}
export type TaskName = keyof Tasks;

/** What a thread is sent. */
export type TaskRequest = {
  [Name in TaskName]: { name: Name; input: Tasks[Name]['input'] };
}[TaskName];

/** What it answers. `refused`: the input is wrong; `missing`: this package is not installed. */
export type TaskReply =
  { output: Tasks[TaskName]['output'] } | { refused: string } | { missing: string };

/** The input of a task cannot be worked on; the message is shown to the caller. */
export class RefusedInput extends Error {
  override name = 'RefusedInput';
}

/** An optional package is not installed. The message is its name. */
export class MissingPackage extends Error {
  override name = 'MissingPackage';
}
