import { Injectable, type OnModuleInit, RequestMethod } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA } from '@nestjs/common/constants';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { match } from 'path-to-regexp';

/** The endpoints of all controllers; distinguishes 404 from 405. */
@Injectable()
export class Routes implements OnModuleInit {
  #endpoints: readonly { method: string; covers: (path: string) => unknown }[] = [];

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  onModuleInit(): void {
    this.#endpoints = this.discovery.getControllers().flatMap(({ metatype }) => {
      if (!metatype) return [];
      const prototype = metatype.prototype as Record<string, object>;
      return this.scanner.getAllMethodNames(prototype).flatMap((name) => {
        const handler = prototype[name];
        const method =
          handler && (Reflect.getMetadata(METHOD_METADATA, handler) as RequestMethod | undefined);
        if (!handler || method === undefined) return [];
        const parts = [metatype, handler].flatMap(
          (at) => Reflect.getMetadata(PATH_METADATA, at) as string,
        );
        const path = `/${parts.flatMap((part) => part.split('/').filter(Boolean)).join('/')}`;
        return [
          {
            method: RequestMethod[method],
            covers: match(path, { decode: false, sensitive: true }),
          },
        ];
      });
    });
  }

  /** Methods that a path supports, sorted; empty if no endpoint has the path. */
  methodsOf(path: string): string[] {
    return [
      ...new Set(this.#endpoints.filter(({ covers }) => covers(path)).map(({ method }) => method)),
    ].sort();
  }
}
