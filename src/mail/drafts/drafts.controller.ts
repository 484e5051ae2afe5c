import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Access, AccountAuth, CurrentAccount } from '../../platform/auth/access.decorators.ts';
import type { AccountPrincipal } from '../../platform/auth/principal.ts';
import { SCOPES_FOR } from '../../platform/auth/scopes.ts';
import { jobReference } from '../../platform/wire/wire.schema.ts';
import { toListView } from '../../platform/database/listing.ts';
import { Endpoint } from '../../platform/http/endpoint.decorator.ts';
import { ApiErrors } from '../../platform/http/errors/error.schema.ts';
import { messageQuery, type MessageQuery } from '../messages/messages.schema.ts';
import { toDraftChange, toDraftFilter, toDraftView } from './drafts.mapper.ts';
import {
  createDraft,
  type CreateDraft,
  deleteDraft,
  type DeleteDraft,
  draftList,
  draftView,
  listDraftsQuery,
  type ListDraftsQuery,
  updateDraft,
  type UpdateDraft,
} from './drafts.schema.ts';
import { DraftsService } from './drafts.service.ts';

const WRITE = { anyScope: SCOPES_FOR.writeDrafts, write: true } as const;

@ApiTags('drafts')
@AccountAuth({ anyScope: SCOPES_FOR.readDrafts })
@Controller('drafts')
export class DraftsController {
  constructor(private readonly drafts: DraftsService) {}

  @Get()
  @Endpoint({
    summary: 'List drafts, newest first',
    description: 'Includes drafts of other mail programs.',
    response: draftList,
  })
  async list(
    @CurrentAccount() account: AccountPrincipal,
    @Query({ schema: listDraftsQuery }) { view, ...query }: ListDraftsQuery,
  ) {
    const listing = await this.drafts.list(account, {
      filter: toDraftFilter(query),
      page: query,
      view: view === 'expanded' ? undefined : view,
    });
    return toListView(listing, (draft) => toDraftView(draft, account.organizationUnit, view));
  }

  @Get(':id')
  @ApiErrors(404, 503)
  @Endpoint({ summary: 'Read a draft', response: draftView })
  async get(
    @CurrentAccount() account: AccountPrincipal,
    @Param('id') id: string,
    @Query({ schema: messageQuery }) { view }: MessageQuery,
  ) {
    return toDraftView(await this.drafts.get(account, id), account.organizationUnit, view);
  }

  @Post()
  @Access(WRITE)
  @ApiErrors(409, 413, 503)
  @Endpoint({
    summary: 'Create a draft',
    description:
      'Every field is optional. The draft is available at once; the job stores it at the provider.',
    response: draftView,
  })
  async create(
    @CurrentAccount() account: AccountPrincipal,
    @Body({ schema: createDraft }) body: CreateDraft,
  ) {
    const { draft, jobId } = await this.drafts.create(account, toDraftChange(body));
    return toDraftView(draft, account.organizationUnit, undefined, jobId);
  }

  @Put(':id')
  @Access(WRITE)
  @ApiErrors(404, 409, 413, 503)
  @Endpoint({
    summary: 'Change a draft',
    description:
      'Absent fields stay unchanged; `metadata` and `file_ids` are replaced as a whole. `version` must be the current one.',
    response: draftView,
  })
  async update(
    @CurrentAccount() account: AccountPrincipal,
    @Param('id') id: string,
    @Body({ schema: updateDraft }) body: UpdateDraft,
  ) {
    const { draft, jobId } = await this.drafts.update(
      account,
      id,
      body.version,
      toDraftChange(body),
    );
    return toDraftView(draft, account.organizationUnit, undefined, jobId);
  }

  @Delete(':id')
  @Access(WRITE)
  @ApiErrors(404, 409)
  @Endpoint({
    summary: 'Delete a draft',
    description: 'The body contains the current `version`.',
    response: jobReference,
  })
  async delete(
    @CurrentAccount() account: AccountPrincipal,
    @Param('id') id: string,
    @Body({ schema: deleteDraft }) body: DeleteDraft,
  ) {
    return { job_status_id: await this.drafts.delete(account, id, body.version) };
  }
}
