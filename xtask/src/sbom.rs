//! `sbom`: what the program is made of, as CycloneDX 1.6, from `cargo metadata`. Dependencies that only build or test are
//! left out of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, bail};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};
use serde_json::{Value, json};

use crate::workspace::Workspace;

const PRODUCT: &str = "toolmux";

/// Writes the list and says where; a part without a licence or a version is a failure.
pub(crate) fn run(workspace: &Workspace) -> anyhow::Result<PathBuf> {
    let mut command = MetadataCommand::new();
    command.manifest_path(workspace.root.join("Cargo.toml")).other_options(["--locked".to_owned()]);
    let bill = bill(&command.exec().context("cannot read `cargo metadata`")?)?;
    let path = workspace.cache().join("toolmux.cdx.json");
    fs::create_dir_all(workspace.cache())?;
    fs::write(&path, serde_json::to_string_pretty(&bill)?)?;
    let parts = bill["components"].as_array().map_or(0, Vec::len);
    println!("    {parts} components in {}", path.strip_prefix(&workspace.root).unwrap_or(&path).display());
    Ok(path)
}

fn bill(metadata: &Metadata) -> anyhow::Result<Value> {
    let packages: BTreeMap<&PackageId, &Package> =
        metadata.packages.iter().map(|package| (&package.id, package)).collect();
    let product = metadata.packages.iter().find(|package| package.name.as_str() == PRODUCT);
    let product = product.with_context(|| format!("there is no package `{PRODUCT}`"))?;
    let needed = needed(metadata, &product.id)?;
    let reference = |id: &PackageId| packages.get(id).map(|package| purl(package)).unwrap_or_default();
    let mut components = Vec::new();
    for id in needed.keys().filter(|id| **id != product.id) {
        let package = packages.get(id).with_context(|| format!("`{id}` is not described"))?;
        components.push(component(package, "library")?);
    }
    let dependencies: Vec<Value> = needed
        .iter()
        .map(|(id, below)| {
            let below: Vec<String> = below.iter().map(reference).collect();
            json!({ "ref": reference(id), "dependsOn": below })
        })
        .collect();
    Ok(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "component": component(product, "application")? },
        "components": components,
        "dependencies": dependencies,
    }))
}

/// Everything that is linked into a package, with what each part needs.
fn needed(metadata: &Metadata, from: &PackageId) -> anyhow::Result<BTreeMap<PackageId, BTreeSet<PackageId>>> {
    let graph = metadata.resolve.as_ref().context("`cargo metadata` has no graph")?;
    let (mut found, mut waiting) = (BTreeMap::new(), vec![from.clone()]);
    while let Some(id) = waiting.pop() {
        if found.contains_key(&id) {
            continue;
        }
        let node = graph.nodes.iter().find(|node| node.id == id);
        let node = node.with_context(|| format!("`{id}` is not in the graph"))?;
        let linked = node
            .deps
            .iter()
            .filter(|dependency| dependency.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal));
        let below: BTreeSet<PackageId> = linked.map(|dependency| dependency.pkg.clone()).collect();
        waiting.extend(below.iter().cloned());
        found.insert(id, below);
    }
    Ok(found)
}

fn component(package: &Package, kind: &str) -> anyhow::Result<Value> {
    // An old spelling of a choice, which SPDX does not know.
    let Some(licence) = package.license.as_ref().map(|licence| licence.replace('/', " OR ")) else {
        bail!("`{}` has no licence", package.name);
    };
    let purl = purl(package);
    Ok(json!({
        "type": kind,
        "bom-ref": purl,
        "name": package.name.as_str(),
        "version": package.version.to_string(),
        "purl": purl,
        "licenses": [{ "expression": licence }],
    }))
}

fn purl(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version)
}

#[cfg(test)]
mod tests {
    use super::run;
    use crate::workspace::Workspace;
    use serde_json::Value;
    use std::collections::BTreeSet;

    #[test]
    fn every_part_is_listed_once_and_every_reference_leads_to_one() {
        let path = run(&Workspace::find().unwrap()).unwrap();
        let bill: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let components = bill["components"].as_array().unwrap();
        let mut known: BTreeSet<&str> =
            components.iter().map(|part| part["bom-ref"].as_str().unwrap()).collect();
        assert_eq!(known.len(), components.len());
        assert!(known.iter().any(|part| part.starts_with("pkg:cargo/axum@")));
        assert!(!known.iter().any(|part| part.starts_with("pkg:cargo/proptest@")), "only tests need it");
        known.insert(bill["metadata"]["component"]["bom-ref"].as_str().unwrap());
        for dependency in bill["dependencies"].as_array().unwrap() {
            for below in dependency["dependsOn"].as_array().unwrap() {
                assert!(known.contains(below.as_str().unwrap()), "{below}");
            }
        }
    }
}
