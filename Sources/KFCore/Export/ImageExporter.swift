import KFImaging
import KFStorage
import KFSystem
import Synchronization

/// An exporter that writes copies of the images of one run into a directory, named by a template.
///
/// If two images of a run get the same name, the second one fails. The exporter remembers all names for that, in about
/// 40 bytes each. A template with `{index}` or at least 12 digits of `{hash}` makes names unique, and needs no memory.
public final class ImageExporter: Sendable {
    private struct Taken {
        let image: UInt64
        /// The position of the image with this name in the list or on the command line.
        let place: String
    }

    private let directory: String
    private let template: OutputTemplate
    /// The names of the forms that are made of each source, in their order.
    private let variants: [String?]
    private let remembers: Bool
    private let taken = Mutex<[UInt64: Taken]>([:])
    private let folders = Mutex<Set<String>>([])

    /// Creates an exporter. The default template is `{stem}-{hash12}.{ext}`, with `-{variant}` before the extension for
    /// named variants.
    public init(directory: String, template: OutputTemplate? = nil, variants: [String?] = [nil]) {
        self.directory = directory
        let isNamed = variants.contains { $0 != nil }
        self.template = template ?? (isNamed ? .standardOfVariants : .standard)
        self.variants = variants
        remembers = !self.template.isDistinct || variants.count > 1 && !self.template.hasVariant
    }

    /// Writes a copy and returns its path. Throws `outputFailed` (4002).
    ///
    /// `form` is the index of the variant. `name` replaces the source's own name. `number` is the item's number in the
    /// run. `place` describes its position, such as "line 7", for errors.
    public func export(
        _ result: RetrieveImageResult, form: Int = 0, name: String? = nil, number: Int, place: String
    ) async throws(KingfisherError) -> String {
        try await Self.blocking { [self] () throws(KingfisherError) in
            try exportNow(result, form: form, name: name, number: number, place: place)
        }
    }

    /// Runs blocking work on the threads for export.
    package static func blocking<Value: Sendable>(
        _ work: @escaping @Sendable () throws(KingfisherError) -> Value
    ) async throws(KingfisherError) -> Value {
        try await WorkerPool.exporting.run(work)
    }

    /// Writes a copy on the calling thread, like `export`.
    package func exportNow(
        _ result: RetrieveImageResult, form: Int = 0, name: String? = nil, number: Int, place: String
    ) throws(KingfisherError) -> String {
        let variant = variants[form]
        let isKey = variant != nil || result.identifier.isEmpty
        let key = isKey ? result.key : "\(result.key)@\(result.identifier)"
        var values = OutputTemplate.Values(facts: result.facts)
        values.stem = name.map(OutputName.stem) ?? result.originalSource.fileStem
        if case .network(let resource) = result.originalSource { values.host = resource.downloadURL.host }
        let digest = Self.digest(key)
        values.hash = digest.hex
        values.number = number
        values.variant = variant
        guard let name = template.name(values) else {
            throw .processorError(reason: .outputFailed(detail: "the template gives an invalid file name"))
        }
        if remembers { try take(name, Self.digest("\(result.key)@\(result.identifier)").prefix, place) }
        try makeFolders(name)
        let path = "\(directory)/\(name)"
        try result.writeNow(to: .file(path))
        return path
    }

    private func take(_ name: String, _ image: UInt64, _ place: String) throws(KingfisherError) {
        let other = taken.withLock { taken -> Taken? in
            let key = Self.digest(name).prefix
            if let other = taken[key] { return other.image == image ? nil : other }
            taken[key] = Taken(image: image, place: place)
            return nil
        }
        guard let other else { return }
        throw .processorError(
            reason: .outputFailed(
                detail: "not written: \(other.place) already has the name '\(name)'; use {hash12} or {index} in the "
                    + "template for unique names"))
    }

    private func makeFolders(_ name: String) throws(KingfisherError) {
        var path = directory
        for part in [nil] + name.split(separator: "/").dropLast().map(Optional.some) {
            if let part { path += "/\(part)" }
            if folders.withLock({ $0.contains(path) }) { continue }
            try OutputDirectory.make(path)
            // The number of new hosts is unlimited, and few of them recur.
            folders.withLock { if $0.count < 1024 { $0.insert(path) } }
        }
    }

    private static func digest(_ text: String) -> Digest {
        var sha = SHA256()
        sha.update(text)
        return sha.finish()
    }
}
