import KFImaging
import KFLists
import KFPipeline
import KFStorage
import KFSystem
import KFTerms
import Synchronization

/// An exporter that writes the images of one run into tar archives in WebDataset's layout, each with a jsonl file.
///
/// Shard `00000` has the first ``ShardNames/size`` items of the lists, `00001` the next ones. `00000.tar` has each
/// image under its key with a `.json` beside it, as `000000012.jpg` and `000000012.json`; with variants
/// `000000012.VARIANT.jpg` and `000000012.VARIANT.json`. `00000.jsonl` has a row of each item in the order of the list,
/// also of those that failed. `00000_stats.json` counts them.
///
/// The files get their names when they are whole, the archive last. A repeated run over the same lists skips the shards
/// that exist, with the failures that their rows record, and makes the others again; their images come from the cache. A list that changed in a shard that exists,
/// or other options, are refused with `outputFailed` (4002). A shard is not written if one of its items was cancelled,
/// was not tried, or failed because of the cache or a required remote.
public final class ShardExporter: PrefetchExporter {
    /// The names of the shards, and how they are written.
    public struct Configuration: Sendable {
        /// The number of items per shard, and the part of the lists.
        public var names: ShardNames
        /// The column whose value is written as `000000012.txt`, one of the list's ``ListOptions/copyColumns``; nil writes
        /// none.
        public var captionColumn: String?
        /// Whether the images are in the order of the list, and not in the order in which they arrived. The bytes of an
        /// archive then follow from those of the images.
        public var isOrdered = false
        /// Whether missing parents of the directory are created.
        public var createsFolders = false
        /// Whether a shard waits until its bytes have reached the disk before it gets its name.
        public var synchronizes = false

        /// The rule by which duplicates are dropped before they come here, a part of the data set's settings; nil for none.
        package var duplicates: String?

        /// The members of rows that an option has asked for. They are a part of the data set's settings.
        public var rowMembers: [String] = []

        /// Creates a configuration.
        public init(names: ShardNames = ShardNames()) { self.names = names }
    }

    /// The descriptions of an image: JSON objects without line breaks.
    public struct Row: Sendable {
        /// The row of `00000.jsonl`.
        public let line: String
        /// The member beside the image.
        public let member: String

        /// Creates a row.
        public init(line: String, member: String) { (self.line, self.member) = (line, member) }
    }

    /// Returns the rows of an item that has ended, one for each form.
    ///
    /// A repeated run reads them back. A row with the `status` `failed` is a failure; it has the `sample`, and an `error`
    /// with `code`, `reason` and `message`. One with `filtered`, `opted_out` or `duplicate` was left out, as `left_out` says.
    public typealias Rows = @Sendable (PrefetchOutcome, ShardNames.Sample) -> [Row]

    /// The shard of the last visited item.
    private enum Current {
        case open(OpenShard)
        case published(ShardManifest.Shard, ShardRows)
    }

    private struct Progress {
        /// The data set on the disk; nil before it is prepared.
        var manifest: ShardManifest?
        var current: Current?
        var position = 0
        var digest = SHA256()
        /// The shards with items that have not ended, by their numbers.
        var open: [Int: OpenShard] = [:]
        var problem: KingfisherError?
    }

    private let directory: String
    private let forms: [ImageExporter.Form]
    private let configuration: Configuration
    private let rows: Rows
    private let state = Mutex(Progress())

    /// Creates an exporter into a directory, which may exist. `forms` are those of the prefetcher.
    public init(
        directory: String, forms: [ImageExporter.Form] = [ImageExporter.Form()],
        configuration: Configuration = Configuration(), rows: @escaping Rows
    ) {
        self.directory = directory
        self.forms = forms
        self.configuration = configuration
        self.rows = rows
    }

    /// Limits the rows that wait for the one before them, some kilobytes each, or the images in order, which wait with
    /// open files.
    public var maxItemsAhead: Int? { configuration.isOrdered ? DescriptorLimit.bound(1024) : 16_384 }

    /// The error after which no shard is written.
    public var problem: KingfisherError? { state.withLock { $0.problem } }

    /// Creates the directory and takes its lock. Removes what killed runs have left. Throws `outputFailed` (4002).
    public func prepare(forms options: [KingfisherOptions]) throws(KingfisherError) {
        try state.withLock { state throws(KingfisherError) in
            guard state.manifest == nil else { return }
            try TarWriter.load()
            try OutputDirectory.make(directory, parents: configuration.createsFolders)
            let (folder, present) = try OutputFile.failing { () throws(StorageError) in
                let folder = try ShardFolder(directory, synchronizes: configuration.synchronizes)
                return (folder, try folder.names)
            }
            let names = configuration.names
            if let other = present.first(where: { names.isForeign(manifest: $0) }) {
                throw ShardManifest.refused(
                    "\(directory) has the shards of another --shard I/N (\(other)); use another directory")
            }
            let settings = settings(options)
            for name in present where names.isOfOtherPart(manifest: name) {
                try ShardManifest.check(name, settings: settings, in: folder)
            }
            let files = present.filter { names.shard(ofFile: $0) != nil }.sorted()
            // The manifest is created before any other file, so that without it none is of this data set.
            if !present.contains(names.manifest), let file = files.first {
                throw ShardManifest.stranger(file, in: folder)
            }
            let manifest = try ShardManifest(names.manifest, settings: settings, in: folder)
            for file in files
            where !file.hasPrefix(".") && names.shard(ofFile: file).flatMap({ manifest.shards[$0] }) == nil {
                throw ShardManifest.stranger(file, in: folder)
            }
            for file in files where file.hasPrefix(".") { folder.discard(String(file.dropFirst())) }
            state.manifest = manifest
        }
    }

    /// The settings that shape the shards, as lines of the manifest.
    private func settings(_ options: [KingfisherOptions]) -> [String] {
        var lines = ["size \(configuration.names.size)"]
        if let part = configuration.names.part { lines.append("parts \(part.count) by \(part.criterion)") }
        if let column = configuration.captionColumn { lines.append("captions \(column)") }
        if configuration.isOrdered { lines.append("ordered") }
        if let filter = options.first?.filter { lines.append("filter \(filter.text)") }
        if let optOut = options.first?.optOut { lines.append("opt-out of \(optOut.agent ?? "all agents")") }
        for (form, options) in zip(forms, options) {
            let (format, processing) = (form.format?.rawValue ?? "as received", options.identifier)
            let line =
                "\(form.variant.map { "variant \($0)" } ?? "image"): format \(format), processing "
                + (processing.isEmpty ? "none" : processing)
            lines.append(String(decoding: line.utf8.map { $0 == UInt8(ascii: "\n") ? 0x20 : $0 }, as: UTF8.self))
        }
        if let duplicates = configuration.duplicates { lines.append(duplicates) }
        let members = configuration.rowMembers
        return members.isEmpty ? lines : lines + ["rows with \(members.joined(separator: ", "))"]
    }

    /// Opens the shard of the item, or notes that the shard exists.
    public func visit(_ item: inout PrefetchItem, identity: String) {
        let (number, index) = configuration.names.place(of: item.position)
        state.withLock { state in
            guard state.problem == nil, let manifest = state.manifest, !item.isElsewhere else { return }
            // Items behind the gap have other positions than in the whole list.
            guard !item.followsGap else {
                state.current = nil
                return
            }
            do throws(KingfisherError) {
                if index == 0 { state.current = try begin(number, manifest, &state) }
                state.position = item.position
                state.digest.update("\(item.text)\n\(identity)\n")
                state.digest.update(record: item.record)
                var digest = state.digest
                let end = ShardManifest.Shard(number: number, items: index + 1, digest: digest.finish())
                switch state.current {
                case .published(let shard, let rows):
                    item.isExported = true
                    if end.items >= shard.items, end != shard {
                        throw ShardManifest.refused(
                            "the list has changed: \(archive(number)) was made of other records; use another directory")
                    }
                    item.recordedRows = try rows.rows(of: configuration.names.sample(at: item.position).key)
                    if end.items == shard.items { try rows.finish() }
                case .open(let shard):
                    if end.items == configuration.names.size { try self.end(shard, end, &state) }
                case nil: break
                }
            } catch {
                state.problem = error
            }
        }
    }

    private func begin(
        _ number: Int, _ manifest: ShardManifest, _ state: inout Progress
    ) throws(KingfisherError) -> Current {
        let name = configuration.names.name(of: number)
        let (files, statistics) = (["\(name).tar", "\(name).jsonl"], name + ShardNames.statistics)
        let (folder, known) = (manifest.folder, manifest.shards[number])
        let present = try OutputFile.failing { () throws(StorageError) in try folder.present(files + [statistics]) }
        if known == nil, let file = present.first { throw ShardManifest.stranger(file, in: folder) }
        if let known, present.starts(with: files) {
            let rows = try OutputFile.failing { () throws(StorageError) in
                try ShardRows(name, forms: forms.count, in: folder)
            }
            return .published(known, rows)
        }
        let shard = OpenShard(name, manifest, isOrdered: configuration.isOrdered)
        state.open[number] = shard
        return .open(shard)
    }

    private func archive(_ number: Int) -> String { "\(directory)/\(configuration.names.name(of: number)).tar" }

    private func shorter(_ number: Int) -> KingfisherError {
        ShardManifest.refused(
            "the list is shorter than the one that \(archive(number)) was made of; use another directory")
    }

    private func end(
        _ shard: OpenShard, _ end: ShardManifest.Shard, _ state: inout Progress
    ) throws(KingfisherError) {
        if try shard.end(with: end) { state.open[end.number] = nil }
    }

    /// Writes the images and the rows of an item. An item that was cancelled or not tried has none, and one that this
    /// machine could not get because of its cache or a required remote: a repeated run may have it.
    public func export(_ outcome: PrefetchOutcome) -> PrefetchOutcome {
        let (number, index) = configuration.names.place(of: outcome.item.position)
        guard !outcome.item.followsGap, outcome.error.map({ !$0.isCancellation && !$0.isOfCache }) ?? true,
            let shard = state.withLock({ $0.problem == nil ? $0.open[number] : nil })
        else { return outcome }
        let sample = configuration.names.sample(at: outcome.item.position)
        var images: [OpenShard.Image] = []
        var members: [String: RetrieveImageResult] = [:]
        let isDropped = if case .responseError(reason: .duplicate)? = outcome.error { true } else { false }
        let ended = outcome.exported { image, form throws(KingfisherError) in
            // Behind the images are their descriptions, which the rows have.
            guard form < forms.count, !isDropped, image.storing.diskError == nil else { return nil }
            // An image that cannot be read has no name: an equal one may be readable.
            let encoded = try EncodedImage(image)
            if let names = try self.names(sample.key, form, image, &members) {
                images.append(OpenShard.Image(name: names.image, image: encoded, rowName: names.row, row: form))
            }
            return nil
        }
        do throws(KingfisherError) {
            let caption = configuration.captionColumn.map {
                (name: "\(sample.key).txt", text: outcome.item.columns[$0] ?? "")
            }
            let isPublished = try shard.add(
                index, OpenShard.Item(images: images, caption: caption, rows: rows(ended, sample), error: ended.error))
            if isPublished { state.withLock { $0.open[number] = nil } }
        } catch {
            state.withLock { $0.problem = $0.problem ?? error }
        }
        return ended
    }

    /// The members of an image and its row, added to those of its sample; nil if the sample has the image already. The
    /// row of one of several formats has the whole name of its image before `.json`. Of different images that would get
    /// one name, the later ones have digits of their hashes before the extension. Throws `outputFailed` (4002).
    private func names(
        _ key: String, _ form: Int, _ image: RetrieveImageResult, _ members: inout [String: RetrieveImageResult]
    ) throws(KingfisherError) -> (image: String, row: String)? {
        let variant = forms[form].variant
        let isOnly = forms.count { $0.variant == variant } <= 1
        for digits in ImageExporter.hashDigits {
            var stem = variant.map { "\(key).\($0)" } ?? key
            if digits > 0 { stem += ".\(image.nameHash(try image.digest()).prefix(digits))" }
            let name = "\(stem).\(image.facts.format.fileExtension)"
            let row = "\(isOnly ? stem : name).json"
            guard let other = members[name] ?? members[row] else {
                (members[name], members[row]) = (image, image)
                return (name, row)
            }
            if try other.digest() == image.digest() { return nil }
        }
        throw ImageExporter.nameIsTaken
    }

    /// Publishes the last shard if the run was whole, and removes the files of the others. Throws `outputFailed` (4002)
    /// if the shard cannot be written, or if the list has become shorter.
    public func finish(isWhole: Bool) throws(KingfisherError) {
        try state.withLock { state throws(KingfisherError) in
            defer {
                for shard in state.open.values { shard.discard() }
                let problem = state.problem
                state = Progress()
                state.problem = problem
            }
            if let problem = state.problem { throw problem }
            guard isWhole, let manifest = state.manifest else { return }
            let (number, index) = configuration.names.place(of: state.position)
            var digest = state.digest
            let end = ShardManifest.Shard(number: number, items: index + 1, digest: digest.finish())
            let last = state.position == 0 ? -1 : number
            for shard in manifest.shards.keys.sorted() where shard > last {
                let name = "\(configuration.names.name(of: shard)).tar"
                let isThere = try OutputFile.failing { () throws(StorageError) in try manifest.folder.has(name) }
                if isThere { throw shorter(shard) }
            }
            switch state.current {
            case .published(let shard, _): if end != shard { throw shorter(number) }
            case .open(let shard): try self.end(shard, end, &state)
            case nil: break
            }
            if let first = state.open.keys.min() {
                throw ShardManifest.refused(
                    "\(archive(first)) is not written, as the cache or a remote lacks images of it; a repeated run makes it"
                )
            }
        }
    }
}

extension SHA256 {
    /// Adds a record of a list without its line break.
    fileprivate mutating func update(record: ArraySlice<UInt8>) {
        let end = record.lastIndex { $0 != 0x0a && $0 != 0x0d }.map { $0 + 1 } ?? record.startIndex
        record[..<end].withUnsafeBytes { update($0) }
    }
}
