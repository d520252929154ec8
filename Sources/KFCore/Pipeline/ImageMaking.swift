import KFImaging
import KFStorage

/// The decoding, processing and encoding of one image, shared by all of its waiters.
///
/// `@unchecked Sendable`, because one worker runs it, and others see the result through the table's lock.
final class ImageMaking: WorkInFlight, StoreWork, @unchecked Sendable {
    /// The bytes that the image is made from.
    enum Original {
        case downloaded(DownloadedImage)
        case file(CachedFile)
    }

    struct Order {
        let original: Original
        let box: OptionsBox
        let encodes: Bool
        let told: ((Image) -> Void)?

        init(
            of original: Original, _ box: OptionsBox, encodes: Bool = true, told: ((Image) -> Void)? = nil
        ) {
            self.original = original
            self.box = box
            self.encodes = encodes
            self.told = told
        }
    }

    private let order: Order
    /// The orders that store the result.
    private(set) lazy var orders = OrderBook(self)

    private var downloaded: DownloadedImage? {
        if case .downloaded(let image) = order.original { return image }
        return nil
    }

    private var made: MadeImage { MadeImage(orders: orders, downloaded: downloaded) }

    private init(_ key: MakeKey, _ order: Order, _ table: WorkTable, for first: any WorkWaiter) {
        self.order = order
        super.init(.make(key), in: table, for: first)
    }

    /// Joins the work of the key. With a batch, new work runs at once on this thread, otherwise on the next worker.
    static func join(
        _ waiter: any WorkWaiter, in table: WorkTable, _ key: MakeKey, _ order: Order, _ batch: StoreBatch?
    ) {
        switch table.join(.make(key), waiter, make: { ImageMaking(key, order, table, for: waiter) }) {
        case .started(let making as ImageMaking):
            if let batch { making.run(in: batch) } else { StoreWorkers.shared.add([making]) }
        case .late(let answer):
            let join = LateJoin(waiter, answer)
            if let batch { join.run(in: batch) } else { StoreWorkers.shared.add([join]) }
        case .started, .joined, .left: break
        }
    }

    func run(in batch: StoreBatch) {
        // Without waiters, the work is dropped before it starts.
        guard table.isWanted(self) else { return }
        do throws(KingfisherError) {
            let made = try make()
            order.told?(made.image)
            table.deliver(.made(self.made, .success(made)), of: self, in: batch)
            if downloaded?.keep(orders) != true { orders.release() }
        } catch {
            table.end(self, with: .made(made, .failure(error)), in: batch)
            // The book and this work reference each other until then.
            orders.release()
        }
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

    private static func make(
        _ bytes: [UInt8], _ format: ImageFormat, _ box: OptionsBox, _ encodes: Bool
    ) throws(KingfisherError) -> ProcessedImage {
        let options = box.value
        let size = WorkMemory.estimate(for: bytes, options.processor, options.processing)
        do throws(ImagingError) {
            return try WorkMemory.shared.holding(size) { () throws(ImagingError) in
                try Allowance(options.decodeLimits, fileBytes: bytes.count).run { () throws(ImagingError) in
                    let image = try options.processor.process(.data(bytes), options: options.processing)
                    guard encodes else { return ProcessedImage(image: image, bytes: [], format: format) }
                    let (encoded, format) = try options.cacheSerializer.data(for: image, original: format)
                    return ProcessedImage(image: image, bytes: encoded, format: format)
                }
            }
        } catch {
            throw KingfisherError(processing: error, identifier: box.identifier)
        }
    }
}
