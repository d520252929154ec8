import Glibc
import KFImaging
import KFLists
import KFPipeline
import KFStorage
import KFSystem
import KFTerms
import Synchronization

/// An exporter that writes copies of the images of one run into a directory, named by a template.
///
/// The first source that claims a name has it. An image of a later source with the same name gets `-` and eight digits
/// of the hash of its content and processing at the end of its stem, and so does a later image of one source. Sources claim
/// their names in the order of the list: with the extension that their own name tells, and with any width, height and
/// hash. A name does not depend on the order in which the images arrive, unless only their bytes give two images one name:
/// `photo.jpg` that is a PNG, beside `photo.png`. The first to arrive then has it. The template `{name}.{ext}` keeps such
/// images apart.
///
/// The exporter remembers the names of a run: the first 100,000 in memory, the others in a temporary database. A
/// template with `{index}`, `{sha256}` or at least 12 digits of `{hash}` needs no memory.
public final class ImageExporter: Sendable {
    /// One of the images that are made of each source.
    public struct Form: Sendable {
        /// The name of the variant; nil for the only one.
        public var variant: String?
        /// The format that its serializer writes; nil if it keeps the source's.
        public var format: ImageFormat?

        /// Creates a form.
        public init(variant: String? = nil, format: ImageFormat? = nil) {
            self.variant = variant
            self.format = format
        }
    }

    /// The place of a source in a run, and what a list says about it.
    public struct Item: Sendable {
        /// The number of the source in the run, from 1.
        public var number: Int
        /// The name that replaces the source's own.
        public var name: String?
        /// The values of the list's columns that the template names.
        public var columns: [String: String] = [:]
        /// The given folder that the source's path lies below.
        public var root: String?

        /// Creates an item.
        public init(number: Int, name: String? = nil, columns: [String: String] = [:], root: String? = nil) {
            self.number = number
            self.name = name
            self.columns = columns
            self.root = root
        }
    }

    /// The names that the images of one source will have.
    public typealias Claim = OutputTemplate.Claim

    /// The file of a copy.
    public struct Copy: Sendable {
        /// The path of the file.
        public let path: String
        /// Whether it was written.
        public let state: OutputState
        /// The facts about the image.
        public let facts: ImageFacts

        package init(path: String, _ state: OutputState, of image: RetrieveImageResult) {
            self.path = path
            self.state = state
            facts = image.facts
        }
    }

    /// The digits of its hash that an image's name has, one number after the other while the name is another image's.
    /// Eight digits can be equal for two images, by chance or on purpose. The whole hash cannot.
    static let hashDigits = [0, 8, 64]

    static let nameIsTaken = KingfisherError.processorError(
        reason: .outputFailed(detail: "not written: another image has its name"))

    /// The greatest depth of folders that a source's path can make.
    private static let deepest = 64

    private let directory: String
    private let template: OutputTemplate
    /// The forms that are made of each source, in their order.
    let forms: [Form]
    private let options: OutputOptions
    private let claims: ClaimTable?
    private let folders = Mutex<Set<String>>([])
    /// An image for each form, to write in place of one that failed.
    let onFailure = Mutex<[RetrieveImageResult]>([])
    /// The error of a copy for which the disk had no room.
    let fullDisk = Mutex<KingfisherError?>(nil)
    /// The record of the copies, for removing those that the list no longer names; nil removes none.
    let record: OutputRecord?
    /// The local sources and the other files of the run. A list of a million files takes about 40 MB.
    private let protected = Mutex<(files: Set<FileID>, new: Set<NewFileID>)>(([], []))
    /// The directories of the run's caches, and the folders that caches and remotes fill.
    private let caches = Mutex<(roots: [String], folders: [String])>(([], []))

    /// Creates an exporter. The default template is `{stem}.{ext}`, and `{stem}-{variant}.{ext}` for named variants.
    public convenience init(
        directory: String, template: OutputTemplate? = nil, forms: [Form] = [Form()],
        options: OutputOptions = OutputOptions()
    ) {
        self.init(directory: directory, template: template, forms: forms, options: options, record: nil)
    }

    /// Creates an exporter whose copies are recorded.
    package init(
        directory: String, template: OutputTemplate?, forms: [Form], options: OutputOptions, record: OutputRecord?
    ) {
        self.directory = directory
        self.record = record
        self.template = template ?? (forms.contains { $0.variant != nil } ? .standardOfVariants : .standard)
        self.forms = forms
        self.options = options
        claims = self.template.isDistinct && forms.count == 1 ? nil : ClaimTable()
    }

    /// The columns of a list that the template names.
    public var columns: [String] { template.columns }

    /// Has these images, one for each form, written in place of those that fail. Their sources still count as failed.
    public func write(onFailure images: [RetrieveImageResult]) { onFailure.withLock { $0 = images } }

    /// Protects the local sources and other files of a run, as paths or `file:` URLs, also those that it will make: no
    /// copy replaces one of them. Claimed sources are protected, too.
    package func protect(_ names: [String]) {
        for name in names where name != "-" {
            let path = LocalFileImageDataProvider.localPath(of: name)
            if let file = FileID(path) {
                protected.withLock { _ = $0.files.insert(file) }
            } else if let file = NewFileID(path) {
                protected.withLock { _ = $0.new.insert(file) }
            }
        }
    }

    /// Protects all that these caches and remotes hold in directories, also those that the run makes.
    package func protect(caches roots: [String], remotes: [String]) {
        let remotes = remotes.filter { $0.prefix(5).lowercased() == "file:" }.map(LocalFileImageDataProvider.localPath)
        caches.withLock { $0 = (roots, roots.map { "\($0)/v1" } + remotes.map { "\($0)/kf1" }) }
    }

    /// Whether the folder is one that a cache fills, or is below one.
    private func isOfCache(folder: String) -> Bool {
        let filled = caches.withLock { $0.folders }.compactMap(OutputDirectory.real)
        guard !filled.isEmpty, let real = OutputDirectory.real(folder) else { return false }
        return filled.contains { real == $0 || real.hasPrefix("\($0)/") }
    }

    private func isMarker(_ path: String) -> Bool {
        guard path.hasSuffix(CacheMarker.name), let file = NewFileID(path) else { return false }
        return caches.withLock { $0.roots }.contains { NewFileID("\($0)/\(CacheMarker.name)") == file }
    }

    private func isProtected(_ path: String) -> Bool {
        if isMarker(path) { return true }
        let (hasFiles, hasNew) = protected.withLock { (!$0.files.isEmpty, !$0.new.isEmpty) }
        if hasFiles, let file = FileID(path), protected.withLock({ $0.files.contains(file) }) { return true }
        guard hasNew, let file = NewFileID(path) else { return false }
        return protected.withLock { $0.new.contains(file) }
    }

    /// Removes the copies of earlier runs that the list no longer names, and none of the files of this run; see
    /// ``OutputRecord/finish(in:isWhole:dryRun:sparing:)``. Nil without a record. Blocks.
    package func prune(
        in cache: ImageCache, isWhole: Bool, dryRun: Bool = false
    ) throws(KingfisherError) -> OutputRecord.Pruning? {
        try record?.finish(in: cache, isWhole: isWhole, dryRun: dryRun) { isProtected($0) }
    }

    /// Claims the names of a source. Call it for the sources of a run in their order.
    ///
    /// `identity` distinguishes the source: equal sources have equal names.
    public func claim(_ source: Source, identity: String, _ item: Item) -> Claim {
        var names = OutputTemplate.Names()
        names.name = item.name ?? source.fileName
        names.stem = item.name.map(OutputName.stem) ?? source.fileStem
        // A URL of a stranger could have thousands. What is left out keeps the names apart by their hashes.
        names.folders = Array(source.folders(below: item.root).prefix(Self.deepest))
        names.number = item.number
        names.areSafe = options.safeNames
        names.columns = item.columns
        switch source {
        case .network(let resource): names.host = resource.downloadURL.host
        case .provider(let file as LocalFileImageDataProvider): protect([file.path])
        case .provider: break
        }
        let owner = Self.digest(identity).prefix
        var taken: Set<Int> = []
        if let claims {
            let kept = Self.extensions(ofKept: names.name)
            for (index, form) in forms.enumerated() {
                names.variant = form.variant
                for ending in form.format.map({ [$0.fileExtension] }) ?? kept {
                    names.ending = ending
                    // The images of one source share its claims: their finished names tell them apart.
                    let name = Self.digest("\(template.name(names, nil) ?? "")\u{0}").prefix
                    if claims.claim(name, for: owner) != owner { taken.insert(index) }
                }
            }
        }
        return Claim(names, taken: taken, recorded: record?.name(source))
    }

    /// The extensions that an image may get when it keeps the format of its source, going by the source's name. What
    /// cannot be written as it is becomes a PNG when it is processed.
    private static func extensions(ofKept name: String) -> [String] {
        guard let format = OutputName.format(of: name) else { return [OutputTemplate.Names.unknown] }
        return format.isEncodable ? [format.fileExtension] : [format.fileExtension, ImageFormat.png.fileExtension]
    }

    /// Writes a copy and returns its file. `form` is the index among the forms. Throws `outputFailed` (4002).
    public func export(
        _ result: RetrieveImageResult, form: Int = 0, _ claim: Claim
    ) async throws(KingfisherError) -> Copy {
        try await WorkerPool.exporting.run { [self] () throws(KingfisherError) in
            try exportNow(result, form: form, claim)
        }
    }

    /// Writes a copy on the calling thread, like `export`.
    package func exportNow(
        _ result: RetrieveImageResult, form: Int = 0, _ claim: Claim
    ) throws(KingfisherError) -> Copy {
        do throws(KingfisherError) { return try copy(result, form, claim) } catch {
            if error.isOfFullOutput { fullDisk.withLock { $0 = error } }
            throw error
        }
    }

    private func copy(
        _ result: RetrieveImageResult, _ form: Int, _ claim: Claim
    ) throws(KingfisherError) -> Copy {
        var names = claim.names
        names.variant = forms[form].variant
        if let empty = template.columns.first(where: { names.columns[$0]?.isEmpty ?? true }) {
            throw .processorError(reason: .outputFailed(detail: "not written: its column '\(empty)' is empty"))
        }
        let sha256 = try result.digest()
        let hash = result.nameHash(sha256)
        for digits in Self.hashDigits where digits > 0 || !claim.taken.contains(form) {
            let suffix = digits == 0 ? "" : "-\(hash.prefix(digits))"
            guard let name = template.name(names, (result.facts, sha256, hash), suffix: suffix) else {
                throw .processorError(reason: .outputFailed(detail: "the template gives an invalid file name"))
            }
            // The bytes tell equal images of several sources from others.
            let image = Self.digest(sha256).prefix
            guard claims?.claim(Self.digest(name).prefix, for: image) ?? image == image else { continue }
            try makeFolders(name)
            let path = directory == "." ? name : "\(directory)/\(name)"
            guard !isProtected(path) else {
                throw .processorError(
                    reason: .outputFailed(detail: "not written: \(path) is a file of this run; use another directory"))
            }
            let state = try result.writeNow(to: .file(path), options)
            if let source = claim.recorded { record?.add(name, of: source, state == .left ? nil : Digest(hex: sha256)) }
            return Copy(path: path, state, of: result)
        }
        throw Self.nameIsTaken
    }

    func makeFolders(_ name: String) throws(KingfisherError) {
        var path = directory
        for part in [nil] + name.pathComponents.dropLast().map(Optional.some) {
            if let part { path += "/\(part)" }
            if folders.withLock({ $0.contains(path) }) { continue }
            try OutputDirectory.make(path, parents: part == nil && options.createsFolders)
            if isOfCache(folder: path) {
                throw .processorError(
                    reason: .outputFailed(
                        detail: "not written: \(path) belongs to a cache of this run; use another directory"))
            }
            // The number of new hosts is unlimited, and few of them recur.
            folders.withLock { if $0.count < 1024 { $0.insert(path) } }
        }
    }

    static func digest(_ text: String) -> Digest {
        var sha = SHA256()
        sha.update(text)
        return sha.finish()
    }
}
