import { Body, Controller, Get, Param, Patch, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { z } from 'zod';
import { Access, AccountAuth, CurrentAccount } from '../../platform/auth/access.decorators.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { allows, SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { toListView } from '../../platform/database/listing.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/error.schema.ts';
import { toThreadFilter, toThreadView } from './threads.mapper.ts';
import {
  changedThreadView,
  listThreadsQuery,
  type ListThreadsQuery,
  threadList,
  threadQuery,
  threadStateView,
  threadView,
  updateThread,
  type UpdateThread,
} from './threads.schema.ts';
import { ThreadsService } from './threads.service.ts';

const WRITE = { anyScope: SCOPES_FOR.moveMail, write: true } as const;

/** There is no DELETE: threads go to the trash by PUT. */
@ApiTags('threads')
@AccountAuth({ anyScope: SCOPES_FOR.readMail })
@Controller('threads')
export class ThreadsController {
  constructor(private readonly threads: ThreadsService) {}

  @Get()
  @Endpoint({
    summary: 'List threads, those with the newest last message first',
    description:
      'All filters given have to match, each on any message of the thread. Threads without messages are not listed.',
    response: threadList,
  })
  async list(
    @CurrentAccount() account: AccountPrincipal,
    @Query({ schema: listThreadsQuery }) query: ListThreadsQuery,
  ) {
    const { view } = query;
    const listing = await this.threads.list(account, {
      filter: toThreadFilter(query),
      page: query,
      view,
    });
    return toListView(listing, (thread) => toThreadView(thread, account.organizationUnit, view));
  }

  @Get(':id')
  @ApiErrors(404)
  @Endpoint({
    summary: 'Read a thread',
    description:
      '`view=expanded` has its messages and drafts in the place of their ids, without their bodies.',
    response: threadView,
  })
  async get(
    @CurrentAccount() account: AccountPrincipal,
    @Param('id') id: string,
    @Query({ schema: threadQuery }) { view }: z.infer<typeof threadQuery>,
  ) {
    const thread = await this.threads.get(account, id, { expanded: view === 'expanded' });
    return toThreadView(thread, account.organizationUnit, view);
  }

  @Put(':id')
  @Access(WRITE)
  @ApiErrors(404)
  @Endpoint({
    summary: 'Change all messages of a thread',
    description:
      'Flags, folder or labels. Drafts are left alone, and moves leave sent mail where it is. Each message that changes ' +
      'has a job of its own; the answer names that of the newest. A token that may not read mail ' +
      '(`email.folders_and_labels`) gets a `ThreadState`.',
    response: changedThreadView,
  })
  async update(
    @CurrentAccount() account: AccountPrincipal,
    @Param('id') id: string,
    @Body({ schema: updateThread }) body: UpdateThread,
  ) {
    const { unread, starred, folder_id: folderId, label_ids: labelIds } = body;
    const { thread, jobId } = await this.threads.update(account, id, {
      unread,
      starred,
      folderId,
      labelIds,
    });
    const view = toThreadView(thread, account.organizationUnit, undefined, jobId);
    return allows(account.scopes, SCOPES_FOR.readMail) ? view : threadStateView.parse(view);
  }

  @Patch(':id')
  @Access(WRITE)
  @ApiErrors(404)
  @Endpoint({ summary: 'The same as PUT', response: changedThreadView })
  patch(
    @CurrentAccount() account: AccountPrincipal,
    @Param('id') id: string,
    @Body({ schema: updateThread }) body: UpdateThread,
  ) {
    return this.update(account, id, body);
  }
}
