import KFImaging
import KFStorage
import KFTerms

/// The making of images from one body, each decoded, processed and encoded, shared by all of its waiters. It is its own
/// key.
final class Making: SharedWork {
    let body: Body
    /// The images, each with a processor.
    let forms: [Retrieval]
    let table: WorkTable
    /// Whether the images are encoded.
    private let encodes: Bool
    private let told: (@Sendable (Image) -> Void)?
    /// Called for each of several images that is made or has failed, on any thread.
    private let note: @Sendable () -> Void

    private init(_ body: Body, _ forms: [Retrieval], for job: ImageJob) {
        (self.body, self.forms, encodes, table) = (body, forms, !job.wantsPixels, job.downloader.work)
        told = job.makesVariants ? nil : body.telling(job.downloader.delegate)
        note = { job.note(.image) }
    }

    /// Joins the making of the same images from the same bytes. `start` is called with what a worker has to do for that,
    /// if there is anything.
    static func join(_ job: ImageJob, _ body: Body, _ forms: [Retrieval], start: (any StoreWork) -> Void) {
        let making = Making(body, forms, for: job)
        switch making.table.join(making, job) {
        case .started:
            // Its images are stored with the body.
            body.hold()
            start(making)
        case .late(let answer): start(answer.joined(by: job))
        case .joined, .left: break
        }
    }

    var key: WorkKey { .make(self) }

    func run(_ turn: inout Turn) {
        defer { body.release() }
        // Without waiters, the work is dropped before it starts.
        guard table.isWanted(self) else { return }
        let made = make()
        if let told, case .success(let made)? = made.first { told(made.image) }
        let isWhole = made.allSatisfy { if case .success = $0 { true } else { false } }
        if isWhole { body.keep(self) }
        table.deliver(.made(body, made), of: self, stays: isWhole, &turn)
    }

    private func make() -> [Result<ProcessedImage, KingfisherError>] {
        let bytes: [UInt8]
        do throws(KingfisherError) {
            bytes = try body.bytes.load(within: forms[0].options.decodeLimits)
        } catch {
            return forms.map { _ in .failure(error) }
        }
        if forms.count == 1 { return [Result { () throws(KingfisherError) in try makeOne(of: bytes) }] }
        var made: [Result<ProcessedImage, KingfisherError>?] = forms.map { _ in nil }
        while let first = made.firstIndex(where: { $0 == nil }) {
            let processing = forms[first].options.processing
            let alike = forms.indices.filter { made[$0] == nil && forms[$0].options.processing == processing }
            let images = VariantMaker.make(alike.map { forms[$0] }, of: bytes, body.format, noting: note)
            for (place, image) in zip(alike, images) { made[place] = image }
        }
        return made.compactMap { $0 }
    }

    private func makeOne(of bytes: [UInt8]) throws(KingfisherError) -> ProcessedImage {
        let options = forms[0].options
        let size = WorkMemory.estimate(for: bytes, options.processor, options.processing)
        do throws(ImagingError) {
            return try WorkMemory.shared.holding(size) { () throws(ImagingError) in
                try Allowance(options.decodeLimits, fileBytes: bytes.count).run { () throws(ImagingError) in
                    let image = try options.processor.process(.data(bytes), options: options.processing)
                    guard encodes else { return ProcessedImage(image: image, format: body.format) }
                    return try ProcessedImage(image, of: bytes, body.format, options)
                }
            }
        } catch {
            throw KingfisherError(processing: error, identifier: forms[0].box.identifier)
        }
    }
}

extension Making: Hashable {
    static func == (a: Making, b: Making) -> Bool {
        if a === b { return true }
        // Bytes that have just arrived are known by their object, and cached ones by their hash.
        let isSame =
            a.body === b.body
            || a.body.found != nil && b.body.found != nil && a.body.digestSoFar == b.body.digestSoFar
        return isSame
            && a.forms.elementsEqual(b.forms) { a, b in
                a.target == b.target && a.cache === b.cache && a.options.decodeLimits == b.options.decodeLimits
            }
    }

    func hash(into hasher: inout Hasher) { hasher.combine(forms[0].target) }
}
