import KFImaging
import KFStorage
import KFTerms

/// The decoding, processing and encoding of one image, shared by all of its waiters.
final class ImageMaking: SharedWork {
    /// The bytes that the image is made from.
    enum Original: Sendable {
        case downloaded(DownloadedImage)
        case file(CachedFile)
    }

    struct Order: Sendable {
        let original: Original
        let box: OptionsBox
        var encodes = true
        var told: (@Sendable (Image) -> Void)?
    }

    let key: WorkKey
    let table: WorkTable
    private let order: Order
    /// The book of the download that the image is made from, which stays open until the image is stored.
    private let origin: OrderBook?

    private init(_ key: MakeKey, _ order: Order, _ table: WorkTable) {
        self.key = .make(key)
        self.table = table
        self.order = order
        origin = if case .downloaded(let image) = order.original { image.stores } else { nil }
        origin?.hold()
    }

    /// Joins the work of the key. `start` is called with what a worker has to do for that, if there is anything.
    static func join(
        _ waiter: any WorkWaiter, in table: WorkTable, _ key: MakeKey, _ order: Order,
        start: (any StoreWork) -> Void
    ) {
        switch table.join(.make(key), waiter, make: { _ in ImageMaking(key, order, table) }) {
        case .started(let making): start(making)
        case .late(let answer): start(answer.joined(by: waiter))
        case .joined, .left: break
        }
    }

    func run(_ turn: inout Turn) {
        defer { origin?.release() }
        // Without waiters, the work is dropped before it starts.
        guard table.isWanted(self) else { return }
        let stores = OrderBook(self, of: origin)
        var downloaded: DownloadedImage?
        if case .downloaded(let image) = order.original { downloaded = image }
        let made = MadeImage(stores: stores, downloaded: downloaded)
        let result = Result { () throws(KingfisherError) in try make() }
        if case .success(let image) = result { order.told?(image.image) }
        let isMade = if case .success = result { true } else { false }
        table.deliver(.made(made, result), of: self, stays: isMade, &turn)
        if !isMade || downloaded?.keep(stores) != true { stores.release() }
    }

    private func make() throws(KingfisherError) -> ProcessedImage {
        switch order.original {
        case .downloaded(let image):
            return try Self.make(try image.bytes.load(), image.format, order.box, order.encodes)
        case .file(let file):
            let limit = order.box.value.decodeLimits.memory(fileBytes: Int(clamping: file.size))
            return try Self.make(try file.readAll(limit: limit), file.entry.format, order.box, order.encodes)
        }
    }

    static func make(
        _ bytes: [UInt8], _ format: ImageFormat, _ box: OptionsBox, _ encodes: Bool
    ) throws(KingfisherError) -> ProcessedImage {
        let options = box.value
        let size = WorkMemory.estimate(for: bytes, options.processor, options.processing)
        do throws(ImagingError) {
            return try WorkMemory.shared.holding(size) { () throws(ImagingError) in
                try Allowance(options.decodeLimits, fileBytes: bytes.count).run { () throws(ImagingError) in
                    let image = try options.processor.process(.data(bytes), options: options.processing)
                    guard encodes else { return ProcessedImage(image: image, format: format) }
                    return try ProcessedImage(image, of: bytes, format, options)
                }
            }
        } catch {
            throw KingfisherError(processing: error, identifier: box.identifier)
        }
    }
}
