import KFImaging
import KFNetwork
import KFStorage

/// One transfer for all who wait for it, from the modifier of its request to the check of its bytes.
struct ImageDownload: Sendable {
    let transport: any Transport
    let circuits: HostCircuits
    let delegate: (any ImageDownloaderDelegate)?
    let responder: (any AuthenticationChallengeResponsible)?
    let url: RequestURL
    /// Of the request, for bodies that can be resumed.
    let identity: Digest
    let options: RequestOptions
    let condition: RequestCondition?
    let acceptsEverySuccess: Bool
    let inspector: ImageInspector
    let store: BodyStore?
    let wishes: SharedWishes
    /// Set when what comes is for this call alone.
    let isPersonal = SharedFlag()
    /// Nil where nothing is stored, so that other processes gain nothing by waiting.
    var gate: FlightGate?
    /// End with the waiting for another process's transfer.
    let rests: RetryRests

    /// `resumes`: what an earlier transfer has left may be continued.
    func run(resumes: Bool = true) async throws(KingfisherError) -> DownloadAnswer {
        let request: PreparedRequest
        if let prepared = options.prepared {
            request = prepared
        } else {
            request = try await options.modifiedRequest(to: url)
        }
        let url = request.url
        if let rest = circuits.wait(for: url.host) {
            throw .responseError(
                reason: .transferError(
                    detail: "\(url.host) has only failed of late; it is left alone for another \(rest.rounded)",
                    isTransient: false))
        }
        delegate?.imageDownloader(willDownloadImageFor: url)
        let outcome: Result<Transferred?, KingfisherError>
        do throws(KingfisherError) {
            outcome = .success(try await transfer(request, resumes: resumes))
        } catch {
            outcome = .failure(error)
        }
        switch outcome {
        case .success(.refused(let facts)?):
            delegate?.imageDownloader(
                didFinishDownloadingImageFor: url, with: nil,
                error: .responseError(reason: .invalidHTTPStatusCode(facts.status)))
        case .success(.body(_, let response)?):
            delegate?.imageDownloader(
                didFinishDownloadingImageFor: url, with: ResponseFacts(response.head, response.metrics),
                error: nil)
        case .success(nil):
            delegate?.imageDownloader(
                didFinishDownloadingImageFor: url, with: nil, error: .requestError(reason: .taskCancelled))
        case .failure(let error):
            delegate?.imageDownloader(didFinishDownloadingImageFor: url, with: nil, error: error)
        }
        let sink: BodySink
        let response: TransferResponse
        switch try outcome.get() {
        case nil: return .stored
        case .refused(let facts)?: return .refused(facts, isPersonal: isPersonal.isSet)
        case .body(let body, let head)?: (sink, response) = (body, head)
        }
        let flight = gate?.hold
        gate?.leave()
        let facts = ResponseFacts(response.head, response.metrics)
        if response.head.status == 304 { return .unchanged(facts, flight) }
        do throws(KingfisherError) {
            var image = try await checked(sink, url, facts)
            image.flight = flight
            return .image(image)
        } catch {
            // At once, not with the last reference: the process may end before that.
            await letGo(sink, keeping: false)
            // The server may have sent the rest of another image, whatever its headers say.
            guard response.head.status == 206, error.isDamage else { throw error }
            return try await run(resumes: false)
        }
    }

    /// What came, if it is an image and whole.
    private func checked(
        _ sink: BodySink, _ url: RequestURL, _ facts: ResponseFacts
    ) async throws(KingfisherError) -> DownloadedImage {
        return try await WorkerPool.processing.run { () throws(KingfisherError) in
            do {
                var bytes = try sink.finish(synchronize: false)
                if let delegate {
                    let data = try bytes.load()
                    guard let changed = delegate.imageDownloader(didDownload: data, for: url) else {
                        throw KingfisherError.responseError(reason: .dataModifyingFailed)
                    }
                    if changed != data { bytes = .memory(changed) }
                }
                let findings = try bytes.withBytes { bytes, passage throws(KingfisherError) in
                    try inspector.inspect(bytes, passage: passage)
                }
                var image = DownloadedImage(bytes: bytes, findings, response: facts)
                image.isPersonal = isPersonal.isSet
                // Here, because another trip to another thread costs as much as making the file.
                if case .memory(let bytes) = bytes, !image.isPersonal { image.prepared = store?.prepare(bytes) }
                return image
            } catch let error as StorageError {
                throw KingfisherError(writing: error)
            } catch let error as KingfisherError {
                throw error.naming(encoding: facts.encoding)
            } catch {
                preconditionFailure("neither storage nor inspection: \(error)")
            }
        }
    }
}

extension KingfisherError {
    /// What was taken as it came, for want of a decoder, is no image because of its encoding.
    fileprivate func naming(encoding: String?) -> KingfisherError {
        guard case .responseError(reason: .notAnImage) = self, let encoding, !encoding.isEmpty else { return self }
        return .responseError(reason: .notAnImage(found: "it came with Content-Encoding \(encoding)"))
    }

    /// The bytes are not a whole image.
    fileprivate var isDamage: Bool {
        switch self {
        case .responseError(reason: .notAnImage), .responseError(reason: .damagedImage): true
        default: false
        }
    }
}
