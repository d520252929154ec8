import KFStorage

/// Answers that brought no image. Under `CachePolicy.http` they are kept as long as they are fresh, like images (RFC 9111, 3):
/// an entry with an empty object, beside the images of the URL.
extension KingfisherManager {
    /// Remembers what a server has said, where its answer allows that.
    func keepAnswer(_ response: ResponseFacts, _ retrieval: Retrieval) async {
        guard let facts = retrieval.facts(ofAnswer: response, now: cache.now) else {
            // The last answer counts, and this one is not to be used again.
            if retrieval.answer != nil { await forgetAnswer(retrieval) }
            return
        }
        let key = EntryKey(key: retrieval.target.key, identifier: EntryKey.answerIdentifier)
        do throws(KingfisherError) {
            _ = try await retrieval.originals.storeOnDisk(
                .memory([]), key, facts, urgent: !retrieval.options.batchesStores)
        } catch {
            // What cannot be remembered is asked for again.
        }
    }

    /// The server has another answer by now.
    func forgetAnswer(_ retrieval: Retrieval) async {
        await retrieval.originals.removeAnswer(forKey: retrieval.target.key)
    }

    /// Waits until what was given out while its server is asked again has been asked for, `limit` at most (nil: as long as
    /// that takes), then ends what still runs.
    package func finishRevalidating(within limit: Duration?) async {
        guard !revalidating.withLock({ $0.isEmpty }) else { return }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [background] in await background.finish() }
            if let limit {
                group.addTask { [downloader] in
                    do { try await Task.sleep(for: limit) } catch { return }
                    downloader.cancelAll()
                }
            }
            await group.next()
            group.cancelAll()
        }
    }

    /// Whether `finishRevalidating` has anything to wait for.
    package var isRevalidating: Bool { !revalidating.withLock { $0.isEmpty } }
}
