import KFStorage
import KFTerms

extension PrefetchWish {
    /// Returns the retrievals of each item, or the error of its record. Modifiers without an identity run.
    static func each(
        of items: [PrefetchItem], _ forms: [OptionsBox], _ manager: KingfisherManager
    ) async -> [Result<PrefetchWish, KingfisherError>] {
        let forms = forms.map { $0.identified(by: manager) }
        let needsModifiers = forms.contains { !$0.value.request.isPrepared }
        var wishes: [Result<PrefetchWish, KingfisherError>] = []
        wishes.reserveCapacity(items.count)
        for item in items {
            do throws(KingfisherError) {
                let source = try item.source.get()
                var wish = PrefetchWish(item: item)
                for form in forms {
                    var box = item.options(form)
                    if needsModifiers { box = OptionsBox(try await manager.prepared(box.value, for: source)) }
                    wish.retrievals.append(Retrieval(source, box, manager.cache))
                }
                wishes.append(.success(wish))
            } catch {
                wishes.append(.failure(error))
            }
        }
        return wishes
    }
}

extension PrefetchWish {
    /// Returns the remembered refusal of an image that is absent in all of its forms; nil if it may be asked for.
    /// `places` are those of its forms in `found`.
    func refusal(_ found: ImageCache.Sight, at places: Range<Int>, now: Timestamp) -> KingfisherError? {
        guard case .some(.some(let answer)) = found.answers[places.lowerBound],
            places.allSatisfy({ if case .absent = found.files[$0] { true } else { false } }),
            let first = retrievals.first, first.cache === first.originals, first.cache.layers.isEmpty
        else { return nil }
        // The index has neither the image nor its original, and so no other representation.
        let sight = Sight(hasFiles: true)
        if case .fail(let error) = first.knowing(answer).decide(sight, asksRemotes: false, now: now),
            error.isRemembered
        {
            return error
        }
        return nil
    }
}

extension OptionsBox {
    fileprivate func identified(by manager: KingfisherManager) -> OptionsBox {
        let options = manager.identified(value)
        return options.request.responderIdentity == value.request.responderIdentity ? self : OptionsBox(options)
    }
}

extension [PrefetchWish] {
    /// The cache of all images; nil if there are several.
    var cache: ImageCache? {
        guard let cache = first?.retrievals.first?.cache else { return nil }
        return allSatisfy { $0.retrievals.allSatisfy { $0.cache === cache } } ? cache : nil
    }
}

extension ImageCache {
    /// Returns the state of each form of the wishes on the disk, one after the other. See `touchFresh`.
    func touchFresh(_ wishes: [PrefetchWish], _ forms: [OptionsBox]) async throws(KingfisherError) -> Sight {
        let count = forms.count
        var accepts: (@Sendable (Int, Entry) -> Bool)?
        if forms.contains(where: { $0.value.cachePolicy == .http }) {
            accepts = { index, entry in wishes[index / count].retrievals[index % count].accepts(entry) }
        }
        return try await touchFresh(
            wishes.flatMap { $0.retrievals.map(\.target) }, originals: wishes.flatMap { $0.retrievals.map(\.original) },
            answers: wishes.contains { $0.retrievals.contains(where: \.remembersAnswers) }, where: accepts)
    }
}
