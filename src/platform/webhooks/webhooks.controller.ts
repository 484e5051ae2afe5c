import { Body, Controller, Delete, Get, Param, Post, Put, Query } from '@nestjs/common';
import { ApiParam, ApiTags } from '@nestjs/swagger';
import {
  ApplicationSecretAuth,
  ApplicationId,
  CurrentApplication,
} from '../auth/access.decorators.ts';
import type { ApplicationPrincipal } from '../auth/principal.ts';
import { Endpoint } from '../http/endpoint.decorator.ts';
import { ApiErrors } from '../http/errors/error.schema.ts';
import {
  toDeliveryView,
  toNewWebhook,
  toOneWebhookView,
  toWebhookChange,
  toWebhooksView,
  toWebhookView,
} from './webhooks.mapper.ts';
import {
  type CreateWebhook,
  createWebhookSchema,
  deliveriesView,
  type ListDeliveriesQuery,
  listDeliveriesQuery,
  type ListWebhooksQuery,
  listWebhooksQuery,
  type UpdateWebhook,
  updateWebhookSchema,
  webhookDeletedView,
  webhooksView,
  webhookView,
} from './webhooks.schema.ts';
import { WebhooksService } from './webhooks.service.ts';

@ApiTags('webhooks')
@ApiParam({ name: 'client_id' })
@ApplicationSecretAuth()
@Controller('a/:client_id/webhooks')
export class WebhooksController {
  constructor(private readonly webhooks: WebhooksService) {}

  @Get()
  @Endpoint({
    summary: 'List the webhooks of the application, oldest first',
    response: webhooksView,
  })
  async list(
    @CurrentApplication() { applicationId, clientId }: ApplicationPrincipal,
    @Query({ schema: listWebhooksQuery }) { view, ...page }: ListWebhooksQuery,
  ) {
    return toWebhooksView(await this.webhooks.list(applicationId, page, view), clientId);
  }

  @Post()
  @ApiErrors(409)
  @Endpoint({
    summary: 'Subscribe to triggers',
    description:
      'Unless `state` is `inactive` or `delivery` is `pull`, Carillon calls `GET callback_url?challenge=<random>`. The receiver must answer 200 with exactly that value within ten seconds; otherwise nothing is stored.',
    response: webhookView,
  })
  async create(
    @CurrentApplication() { applicationId, clientId }: ApplicationPrincipal,
    @Body({ schema: createWebhookSchema }) body: CreateWebhook,
  ) {
    return toWebhookView(await this.webhooks.create(applicationId, toNewWebhook(body)), clientId);
  }

  @Get(':id')
  @ApiErrors(404)
  @Endpoint({
    summary: 'Read a webhook',
    description:
      '`feed` is present for a pull webhook, and for any other one whose feed was acknowledged.',
    response: webhookView,
  })
  async get(
    @CurrentApplication() { applicationId, clientId }: ApplicationPrincipal,
    @Param('id') id: string,
  ) {
    return toOneWebhookView(await this.webhooks.getWithProgress(applicationId, id), clientId);
  }

  @Put(':id')
  @ApiErrors(404)
  @Endpoint({
    summary: 'Activate or deactivate a webhook',
    description:
      'Only `state` can change. Setting `active` runs the challenge again, unless the webhook is a pull webhook. A webhook that had `failed` then gets the events of the last 72 hours that it missed.',
    response: webhookView,
  })
  async update(
    @CurrentApplication() { applicationId, clientId }: ApplicationPrincipal,
    @Param('id') id: string,
    @Body({ schema: updateWebhookSchema }) body: UpdateWebhook,
  ) {
    return toWebhookView(
      await this.webhooks.update(applicationId, id, toWebhookChange(body)),
      clientId,
    );
  }

  @Delete(':id')
  @ApiErrors(404)
  @Endpoint({ summary: 'Delete a webhook and its queued deliveries', response: webhookDeletedView })
  async delete(@ApplicationId() applicationId: string, @Param('id') id: string) {
    await this.webhooks.delete(applicationId, id);
    return { success: true };
  }

  @Get(':id/deliveries')
  @ApiErrors(404)
  @Endpoint({
    summary: 'List delivery attempts and their results',
    description: 'Attempts of the last 30 days, newest first.',
    response: deliveriesView,
  })
  async deliveries(
    @ApplicationId() applicationId: string,
    @Param('id') id: string,
    @Query({ schema: listDeliveriesQuery }) page: ListDeliveriesQuery,
  ) {
    return (await this.webhooks.deliveries(applicationId, id, page)).map(toDeliveryView);
  }
}
