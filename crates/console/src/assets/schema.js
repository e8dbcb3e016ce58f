// What a form has to know of a JSON Schema: what it refers to, what alternatives it has, and which of them a value is.

/** Looks into the document that a schema is part of. */
export class Schemas {
  constructor(document) {
    this.document = document;
  }

  /** The schema itself: what it refers to, with all parts of `allOf` in it. A reference that leads nowhere allows anything. */
  whole(schema, depth = 0) {
    if (schema === true || schema === undefined || schema === null) return {};
    if (schema === false) return { not: {} };
    if (depth > 16) return {};
    let whole = { ...schema };
    const reference = whole.$ref ?? whole.$dynamicRef;
    if (typeof reference === 'string') {
      const { $ref, $dynamicRef, ...own } = whole;
      whole = { ...this.whole(this.at(reference), depth + 1), ...own };
    }
    if (Array.isArray(whole.allOf)) {
      const { allOf, ...own } = whole;
      whole = allOf.map((part) => this.whole(part, depth + 1)).reduce(join, own);
    }
    return whole;
  }

  at(reference) {
    if (reference === '#') return this.document;
    if (!reference.startsWith('#')) return {};
    if (!reference.startsWith('#/')) return this.anchored(this.document, reference.slice(1)) ?? {};
    let place = this.document;
    for (const part of reference.slice(2).split('/')) {
      place = place?.[decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')];
    }
    return place ?? {};
  }

  anchored(value, name, depth = 0) {
    if (typeof value !== 'object' || value === null || depth > 24) return undefined;
    if (value.$anchor === name || value.$dynamicAnchor === name) return value;
    for (const member of Object.values(value)) {
      const found = this.anchored(member, name, depth + 1);
      if (found) return found;
    }
    return undefined;
  }

  /** The schemas of which a value may fit one; none when there is no choice. */
  alternatives(whole) {
    const { oneOf, anyOf, type, nullable, ...rest } = whole;
    const list = Array.isArray(oneOf) ? oneOf : Array.isArray(anyOf) ? anyOf : null;
    const common = type === undefined ? rest : { ...rest, type };
    const nothing = nullable === true ? [{ type: 'null' }] : [];
    if (list) {
      // Alternatives that only say which members are required are no choice of a form.
      const parts = list.map((part) => this.whole(part));
      const onlyRequired = parts.every((part) => Object.keys(part).every((key) => key === 'required' || key === 'not'));
      if (onlyRequired) return [];
      const { title, description, default: given, ...shared } = common;
      return [...parts.map((part) => join({ ...shared }, part)), ...nothing];
    }
    if (Array.isArray(type) && type.length > 1) return [...type.map((one) => ({ ...rest, type: one })), ...nothing];
    return nothing.length ? [common, ...nothing] : [];
  }

  /** Whether a value could be of a schema, by its type and the members that tell alternatives apart. */
  fits(schema, value, depth = 0) {
    const whole = this.whole(schema);
    if (depth > 6 || value === undefined) return true;
    if ('const' in whole) return same(whole.const, value);
    if (Array.isArray(whole.enum)) return whole.enum.some((one) => same(one, value));
    const choices = this.alternatives(whole);
    if (choices.length) return choices.some((choice) => this.fits(choice, value, depth + 1));
    const kind = kindOf(whole);
    const actual = value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
    if (kind && kind !== actual && !(kind === 'integer' && actual === 'number')) return false;
    if (actual !== 'object') return true;
    const properties = whole.properties ?? {};
    if ((whole.required ?? []).some((name) => !(name in value))) return false;
    if (whole.additionalProperties === false && Object.keys(value).some((name) => !(name in properties))) return false;
    return Object.entries(properties).every(([name, member]) => !(name in value) || this.fits(member, value[name], depth + 1));
  }
}

/** The type of a schema without alternatives; by its words where it does not say one. */
export function kindOf(whole) {
  const type = Array.isArray(whole.type) ? whole.type[0] : whole.type;
  if (type) return type;
  if (whole.properties || whole.additionalProperties || whole.patternProperties) return 'object';
  if (whole.items || whole.prefixItems) return 'array';
  if (whole.pattern !== undefined || whole.minLength !== undefined || whole.maxLength !== undefined) return 'string';
  if (whole.minimum !== undefined || whole.maximum !== undefined) return 'number';
  return undefined;
}

/** What a choice is called. */
export function nameOf(schemas, schema, place) {
  const whole = schemas.whole(schema);
  if (whole.title) return whole.title;
  if ('const' in whole) return JSON.stringify(whole.const);
  const marked = Object.entries(whole.properties ?? {}).map(([name, member]) => [name, schemas.whole(member)]);
  const mark = marked.find(([, member]) => 'const' in member || member.enum?.length === 1);
  if (mark) return `${mark[0]}: ${mark[1].const ?? mark[1].enum[0]}`;
  if (Array.isArray(whole.enum)) return 'one of';
  const kind = kindOf(whole);
  if (kind === 'object' && marked.length) return `object (${marked.slice(0, 3).map(([name]) => name).join(', ')})`;
  if (kind === 'array' && whole.items) return `array of ${kindOf(schemas.whole(whole.items)) ?? 'any'}`;
  return kind ?? `alternative ${place + 1}`;
}

export function same(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

function join(one, other) {
  const joined = { ...one, ...other };
  if (one.properties || other.properties) joined.properties = { ...one.properties, ...other.properties };
  if (one.required || other.required) joined.required = [...new Set([...(one.required ?? []), ...(other.required ?? [])])];
  return joined;
}
