import Dispatch
import KFStorage

/// One reading of a provider for all who wait for it. Unchecked, because one worker at a time has it.
final class ProviderRead: WorkInFlight, StoreWork, @unchecked Sendable {
    private let provider: any ImageDataProvider
    private let retrieval: Retrieval
    private var claim: FlightClaim?

    init(
        _ provider: any ImageDataProvider, _ retrieval: Retrieval, finder: any ImageFinder, in table: WorkTable,
        for first: any WorkWaiter
    ) {
        self.provider = provider
        self.retrieval = retrieval
        claim = FlightClaim(retrieval.place(for: finder), retrieval.options.request)
        super.init(.read(retrieval.readKey), in: table, for: first)
    }

    func run(in batch: StoreBatch) {
        guard table.isWanted(self) else {
            claim?.leave()
            return
        }
        switch claim?.enter() ?? .open {
        case .later(let pause):
            // Another process reads it.
            let nanoseconds = Int(pause.components.attoseconds / 1_000_000_000)
            DispatchQueue.global().asyncAfter(deadline: .now() + .nanoseconds(nanoseconds)) { [self] in
                StoreWorkers.shared.add([self])
            }
            return
        case .undecided where retrieval.isCached, .ended:
            claim?.leave()
            return end(.success(.stored), batch)
        case .open, .undecided: break
        }
        do throws(KingfisherError) {
            let bytes = try provider.data()
            let findings = try bytes.withUnsafeBytes { bytes in
                Result { () throws(KingfisherError) in try retrieval.box.inspector.inspect(bytes) }
            }.get()
            let image = DownloadedImage(
                .memory(bytes), findings, response: nil, flight: claim?.hold, orders: OrderBook(self))
            claim?.leave()
            table.deliver(.download(.success(.image(image))), of: self, in: batch)
            image.release()
        } catch {
            claim?.leave()
            end(.failure(error), batch)
        }
    }

    private func end(_ result: Result<DownloadAnswer, KingfisherError>, _ batch: StoreBatch) {
        table.end(self, with: .download(result), in: batch)
    }
}

extension Retrieval {
    /// Where what comes of its source belongs.
    func place(for finder: any ImageFinder) -> DownloadPlace {
        DownloadPlace(
            cache: originals, key: original.source, stores: !options.cacheMemoryOnly, commitsSeen: commitsSeen,
            finder: finder)
    }

    /// Of the provider that is its source.
    var readKey: ReadKey {
        ReadKey(key: original, inspector: box.inspector, cache: ObjectIdentifier(originals))
    }
}
