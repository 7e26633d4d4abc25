package sqlite

import "context"

// Exec runs SQL on the connection that writes, so that tests can make it fail.
func (s *Store) Exec(query string) error {
	if err := s.lock(context.Background()); err != nil {
		return err
	}
	defer s.unlock()
	return s.w.conn.script(query)
}
