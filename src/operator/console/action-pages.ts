import { Body, Get, Param, Post, Res } from '@nestjs/common';
import type { Response } from 'express';
import type { Actor } from '../../platform/audit/actor.ts';
import { NotFoundError } from '../../platform/base/errors/domain-error.ts';
import { CurrentActor, OperatorAccess } from '../access/operator-access.decorators.ts';
import { sendPage, viewerOf } from './console-response.ts';
import type { ConsolePage, Crumb, Section } from './kit/layout.ts';
import { type NoticeCode, noticePath } from './notices.ts';
import { actionPage, type AskedAction } from './pages/action.page.ts';
import type { Fields } from './queries.ts';

/** What a page asks before an action is done. */
export type Question = Omit<AskedAction, 'section' | 'crumbs' | 'path' | 'back'>;

/** An action on one object: its page, and what it does when the form is sent. */
export type ConsoleAction<T> = {
  ask: (object: T) => Question | Promise<Question>;
} & (
  | {
      run: (actor: Actor, object: T, body: Fields) => Promise<unknown>;
      /** What the next page says. */
      done: NoticeCode;
      /** The next page. Default: that of the object. */
      next?: string;
    }
  /** For a secret that is shown once: the page is the response to the form. */
  | { show: (actor: Actor, object: T, body: Fields) => Promise<ConsolePage> }
);

/** Objects of one kind, and what operators can do with them. */
export interface ConsoleActions<T> {
  section: Section;
  /** @throws {NotFoundError} */
  find: (id: string) => Promise<T>;
  /** The path of the object's page, and the way there. */
  placeOf: (object: T) => { path: string; crumbs: readonly Crumb[] };
  /** By the last part of their paths. */
  actions: Readonly<Record<string, ConsoleAction<T>>>;
}

/**
 * The actions on objects of one kind: each has a page that asks, and its form does it. Paths of a
 * subclass come first.
 */
export abstract class ActionPages<T> {
  readonly #of: ConsoleActions<T>;

  constructor(of: ConsoleActions<T>) {
    this.#of = of;
  }

  @Get(':id/:action')
  @OperatorAccess('operate')
  async ask(
    @Param('id') id: string,
    @Param('action') name: string,
    @Res() response: Response,
  ): Promise<void> {
    const { section, find, placeOf } = this.#of;
    const { ask } = this.#action(name);
    const object = await find(id);
    const { path: back, crumbs } = placeOf(object);
    const question = await ask(object);
    const asked = { ...question, section, crumbs, path: `${back}/${name}`, back };
    sendPage(response, actionPage(viewerOf(response.req), asked));
  }

  @Post(':id/:action')
  @OperatorAccess('operate')
  async act(
    @CurrentActor() actor: Actor,
    @Param('id') id: string,
    @Param('action') name: string,
    @Body() body: Fields,
    @Res() response: Response,
  ): Promise<void> {
    const action = this.#action(name);
    const object = await this.#of.find(id);
    if ('show' in action) return sendPage(response, await action.show(actor, object, body));
    await action.run(actor, object, body);
    const next = action.next ?? this.#of.placeOf(object).path;
    response.redirect(303, noticePath(next, action.done));
  }

  #action(name: string): ConsoleAction<T> {
    const { actions } = this.#of;
    const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
    if (!action) throw new NotFoundError('action', name);
    return action;
  }
}
